"""``manage.py import_detections FILE_OR_FOLDER --project SLUG [--resized]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.selectors.jobs import DETECT_OBJECTS
from curation.services.objects import request_detections_import
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Import the objects of photos from published metadata: boxes, names and outlines."""

    help = "Import the objects of photos from published metadata: boxes, names and outlines (segms)."
    tasks = (DETECT_OBJECTS,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        file_help = (
            "a folder of .json files named like the photos, one such file, or a .jsonl file whose lines name their "
            "image (image, img_fn or metadata_fn)"
        )
        add("file", type=Path, nargs="?", metavar="FILE_OR_FOLDER", help=file_help)
        add("--project", default="", help="the project's short name")
        resized_help = "accept photos at another scale than stated, and scale their objects"
        add("--resized", action="store_true", help=resized_help)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if options["file"] is None:
            raise input_error("file: give the metadata of photos, or --resume JOB")
        return request_detections_import(
            project=find_project(options["project"]),
            by=None,
            path=options["file"],
            allow_resized=options["resized"],
            queue=queue,
        )
