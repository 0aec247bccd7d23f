"""``manage.py import_proposals image_url2auto_bboxes.json --project SLUG [--layout auto|corners|sizes]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.proposals.detector import DEFAULT_LIMIT
from curation.selectors.jobs import PROPOSALS
from curation.services.proposals import LAYOUTS, request_proposals_import
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Import box proposals from a file, and measure them against the project's accepted pairs."""

    help = "Import box proposals from a file of image addresses and boxes."
    tasks = (PROPOSALS,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("file", type=Path, nargs="?", help='{"image address": [box, …], …}')
        add("--project", default="", help="the project's short name")
        layout_help = (
            "how to read a box of four numbers: as corners (left, top, right, bottom), as sizes (left, top, width, "
            "height), or auto, which decides by the whole file"
        )
        add("--layout", choices=LAYOUTS, default="auto", help=layout_help)
        limit_help = f"maximum boxes per photo (the best ones); default: {DEFAULT_LIMIT}"
        add("--limit", type=int, default=DEFAULT_LIMIT, help=limit_help)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if options["file"] is None:
            raise input_error("file: give the file of proposals, or --resume JOB")
        return request_proposals_import(
            project=find_project(options["project"]),
            by=None,
            path=options["file"],
            layout=options["layout"],
            limit=options["limit"],
            queue=queue,
        )
