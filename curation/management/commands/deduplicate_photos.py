"""``manage.py deduplicate_photos --project P [--distance D | --share 0.9 | --clusters N] …``, ``--apply RUN``."""

from argparse import ArgumentParser
from typing import Any

from curation.dedup.cuts import Linkage
from curation.features.encoder import POOLED_ENCODER
from curation.management.encoder_names import absolute_encoder
from curation.models import DuplicateRun, Source
from curation.selectors.jobs import DEDUPLICATE
from curation.services import request_deduplication, set_aside_duplicates, undo_duplicates
from curation.services.dedup import (
    CLIP_NEAR_COPY_DISTANCE,
    KEEP_METHODS,
    MEMORY_MIB,
    NEAR_COPY_DISTANCES,
)
from hits.management.base import emit_json, input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job

SHARED_OPTIONS = (
    "clusters",
    "distance",
    "linkage",
    "keep",
    "seed",
    "encoder",
    "source",
    "memory_mib",
    "set_aside",
)


class Command(JobCommand):
    """Find near-duplicates among a project's photos, and set them aside on request."""

    help = (
        "Cluster a project's photos hierarchically and preview which ones would be set aside, one of each cluster "
        "being kept. --set-aside does it at once, --apply RUN after a look at the preview, --undo RUN takes it back."
    )
    tasks = (DEDUPLICATE,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument("--project", default="", help="the project's short name")
        parser.add_argument(
            "--source",
            choices=[source.value for source in Source],
            default="",
            help="cluster only this collection's photos, and keep the marks of all others; default: all photos",
        )
        cut = parser.add_mutually_exclusive_group()
        cut.add_argument("--share", type=float, help="of the photos that are kept, such as 0.9")
        cut.add_argument("--clusters", type=int, help="how many photos are kept")
        cut.add_argument(
            "--distance",
            type=float,
            help=(
                "merge what is at most this far apart: 1 - cosine; of ward, the height of the merge. Default, for "
                f"near copies alone: {NEAR_COPY_DISTANCES[POOLED_ENCODER]} with {POOLED_ENCODER}, "
                f"{CLIP_NEAR_COPY_DISTANCE} with CLIP"
            ),
        )
        parser.add_argument("--linkage", choices=[linkage.value for linkage in Linkage], default="average")
        parser.add_argument(
            "--keep", choices=KEEP_METHODS, default=KEEP_METHODS[0], help="which photo of a cluster is kept"
        )
        parser.add_argument("--seed", type=int, default=0, help="of the draw of kept photos")
        parser.add_argument(
            "--encoder",
            type=absolute_encoder,
            default="",
            help=f"{POOLED_ENCODER} (default), clip:<hub id or folder>, clip-openvino:<folder>",
        )
        parser.add_argument(
            "--memory-mib",
            type=int,
            default=MEMORY_MIB,
            help=f"most that clustering takes beside the vectors; default {MEMORY_MIB}",
        )
        acts = parser.add_mutually_exclusive_group()
        acts.add_argument(
            "--set-aside", action="store_true", help="set photos aside at once, without a preview"
        )
        acts.add_argument("--apply", type=int, metavar="RUN", help="set the photos of a preview aside")
        acts.add_argument("--undo", type=int, metavar="RUN", help="undo setting a run's photos aside")

    def handle(self, *args: Any, **options: Any) -> None:
        """Preview, or act on an earlier preview."""
        if options["apply"] is None and options["undo"] is None:
            super().handle(*args, **options)
        elif options["apply"] is not None:
            run = _get_run(options["apply"])
            marks = set_aside_duplicates(run=run)
            self._write_message(
                options,
                f"{marks.marked} photos are set aside; undo it with --undo {run.pk}",
                marked=marks.marked,
            )
        else:
            moved = undo_duplicates(run=_get_run(options["undo"]))
            self._write_message(options, f"Undone: {moved} marks were restored", undone=moved)

    def finish(self, job: Job, options: dict[str, Any]) -> None:
        """Print the job's result, and how to apply a preview."""
        super().finish(job, options)
        run = job.result.get("run")
        if run and "marked" not in job.result and not options["json"]:
            self.stdout.write(
                f"A preview: no photo was set aside. To do it: manage.py deduplicate_photos --apply {run}"
            )

    def _write_message(self, options: dict[str, Any], message: str, **facts: int) -> None:
        if options["json"]:
            emit_json(self, facts)
        else:
            self.stdout.write(message)

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Request the run."""
        if not options["project"]:
            raise input_error("give --project, or a job to --resume")
        return request_deduplication(
            project=find_project(options["project"]),
            by=None,
            queue=queue,
            fraction=options["share"],
            **{name: options[name] for name in SHARED_OPTIONS},
        )


def _get_run(pk: int) -> DuplicateRun:
    run = DuplicateRun.objects.filter(pk=pk).first()
    if run is None:
        raise input_error(f"run {pk}: does not exist; create one by “deduplicate_photos --project P”")
    return run
