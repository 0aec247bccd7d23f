"""Base class of commands that import collections."""

from argparse import ArgumentParser
from typing import Any

from curation.models import Source
from curation.selectors.jobs import IMPORT_SOURCE
from curation.services.source_images import AcceptedSizes, BadImageAction, ImportOptions
from curation.services.sources import CollectionSpec, request_source_import, split_warning
from curation.sources.records import MissingImagePolicy
from hits.management.base import input_error
from hits.management.jobs import JobCommand, absolute_path, job_facts
from hits.management.lookups import find_project, validate_image_limit
from hits.models import Job

MAX_SHOWN_PROBLEMS = 5


class ImportCommand(JobCommand):
    """Import the collection ``source`` in a job."""

    tasks = (IMPORT_SOURCE,)
    source: Source
    folder_help = ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options common to all collections."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("folder", type=absolute_path, nargs="?", default="", help=self.folder_help)
        add("--project", default="", help="the project's short name")
        add(
            "--allowed",
            type=absolute_path,
            action="append",
            default=[],
            help="list of the images to import, such as VisualCOMET's train_annots.json; may be repeated",
        )
        add("--limit", type=int, help="maximum number of pictures to import")
        add("--dry-run", action="store_true", help="only read and count; store nothing")
        add("--strict", action="store_true", help="stop at the first picture that cannot be used")
        add("--skip-missing", action="store_true", help="skip pictures that are missing")
        add("--resized", action="store_true", help="accept pictures at another scale, and scale their boxes")
        add("--licence", default="", help="licence to store and show with every picture")

    def can_resume_job(self, job: Job) -> bool:
        """Whether a job imports this collection."""
        return super().can_resume_job(job) and job.args["source"] == self.source

    def collection_spec(self, **options: Any) -> CollectionSpec:
        """Return the specification of the collection to import."""
        raise NotImplementedError

    def shared_spec_fields(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of the specification that all collections have."""
        return {
            "allowed": tuple(options["allowed"]),
            "missing": MissingImagePolicy.SKIP if options["skip_missing"] else MissingImagePolicy.REFUSE,
            "limit": validate_image_limit(options["limit"]),
        }

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if not options["folder"] or not options["project"]:
            raise input_error("give the folder and --project, or --resume JOB")
        spec = self.collection_spec(**options)
        job = request_source_import(
            project=find_project(options["project"]),
            spec=spec,
            options=ImportOptions(
                bad_picture=BadImageAction.STOP if options["strict"] else BadImageAction.SKIP,
                sizes=AcceptedSizes.RESIZED if options["resized"] else AcceptedSizes.PUBLISHED,
                licence=options["licence"],
                dry_run=options["dry_run"],
            ),
            queue=queue,
        )
        warning = split_warning(spec)
        if warning and options["background"]:  # a job running here logs this, with the number of images
            self.stderr.write(f"Warning: {warning}")
        return job

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the counts, and the first reasons for skipping pictures."""
        self.report(options, job_facts(job), summarise_import(job.result))
        if not options["json"]:
            for problem in job.result["problems"][:MAX_SHOWN_PROBLEMS]:
                self.stderr.write(f"skipped: {problem}")


def summarise_import(result: dict[str, Any]) -> str:
    """Return a line that summarises an import's counts."""
    splits = ", ".join(f"{split} {count}" for split, count in result["splits"].items())
    left_out = sum(result["left_out"].values())
    chosen = f"{result['images']} pictures ({splits or 'none'}), {left_out} left out"
    if result["dry_run"]:
        return f"{chosen}; nothing was stored"
    return (
        f"{chosen}; {result['new']} new, {result['known']} already known, {result['described']} updated, "
        f"{result['skipped']} skipped; {result['regions']} regions, {result['clipped']} cut at the edge, "
        f"{result['dropped']} dropped because they have no area"
    )
