"""``manage.py deduplicate_photos --project P [--distance D | --share 0.9 | --clusters N] …``, ``--apply RUN``."""

from argparse import ArgumentParser
from typing import Any

from curation.dedup.cuts import Linkage
from curation.features.encoder import POOLED_ENCODER
from curation.management.encoder_names import make_encoder_path_absolute
from curation.management.option_fields import option_fields
from curation.models import DuplicateRun, Source
from curation.selectors.jobs import DEDUPLICATE
from curation.services import dedup
from curation.services.dedup import KEEP_METHODS, MEMORY_MIB, DedupOptions
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Find near-duplicates among a project's photos, and set them aside on request."""

    help = (
        "Cluster a project's photos hierarchically, and preview the photos that would be set aside if one of each "
        "cluster were kept. --set-aside sets them aside without a preview, --apply RUN after a preview, --undo RUN "
        "restores them."
    )
    tasks = (DEDUPLICATE,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", default="", help="the project's short name")
        one = "cluster only this collection's photos, and leave other photos as they are; default: all photos"
        add("--source", choices=[source.value for source in Source], default="", help=one)
        cut = parser.add_mutually_exclusive_group()
        cut.add_argument("--share", type=float, help="share of the photos to keep, such as 0.9")
        cut.add_argument("--clusters", type=int, help="number of photos to keep")
        apart = (
            "merge clusters up to this distance: 1 - cosine; for --linkage ward, the height of the merge. The "
            f"default merges near copies only: {dedup.NEAR_COPY_DISTANCES[POOLED_ENCODER]} with {POOLED_ENCODER}, "
            f"{dedup.CLIP_NEAR_COPY_DISTANCE} with CLIP"
        )
        cut.add_argument("--distance", type=float, help=apart)
        add("--linkage", choices=[linkage.value for linkage in Linkage], default="average")
        add("--keep", choices=KEEP_METHODS, default=KEEP_METHODS[0], help="which photo of a cluster is kept")
        add("--seed", type=int, default=0, help="seed of the draw of kept photos")
        encoders = f"{POOLED_ENCODER} (default), clip:<hub id or folder>, clip-openvino:<folder>"
        add("--encoder", type=make_encoder_path_absolute, default="", help=encoders)
        most = f"maximum memory of clustering in addition to the vectors, in MiB; default {MEMORY_MIB}"
        add("--memory-mib", type=int, default=MEMORY_MIB, help=most)
        actions = parser.add_mutually_exclusive_group()
        actions.add_argument(
            "--set-aside", action="store_true", help="set photos aside at once, without a preview"
        )
        actions.add_argument("--apply", type=int, metavar="RUN", help="set the photos of a preview aside")
        actions.add_argument(
            "--undo", type=int, metavar="RUN", help="restore the photos that a run set aside"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Preview, or act on an earlier preview."""
        if options["apply"] is None and options["undo"] is None:
            super().handle(*args, **options)
        elif options["apply"] is not None:
            run = _get_run(options["apply"])
            marked = dedup.set_aside_duplicates(run=run).marked
            line = f"{marked} photos are set aside; undo it with --undo {run.pk}"
            self.report(options, {"marked": marked}, line)
        else:
            undone = dedup.undo_duplicates(run=_get_run(options["undo"]))
            self.report(
                options, {"undone": undone}, f"Undone: {undone} photos are as they were before the run"
            )

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the job's result, and how to apply a preview."""
        super().report_result(job, options)
        run = job.result.get("run")
        if run and "marked" not in job.result and not options["json"]:
            apply = f"manage.py deduplicate_photos --apply {run}"
            self.stdout.write(f"This is a preview: no photo was set aside. To set them aside: {apply}")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if not options["project"]:
            raise input_error("give --project, or --resume JOB")
        return dedup.request_deduplication(
            project=find_project(options["project"]),
            by=None,
            queue=queue,
            fraction=options["share"],
            **option_fields(DedupOptions, options),
        )


def _get_run(pk: int) -> DuplicateRun:
    run = DuplicateRun.objects.filter(pk=pk).first()
    if run is None:
        raise input_error(f"run {pk}: does not exist; create one with “deduplicate_photos --project P”")
    return run
