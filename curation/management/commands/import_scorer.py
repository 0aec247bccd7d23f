"""``manage.py import_scorer FOLDER --project P --name N``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.selectors.jobs import IMPORT_SCORER
from curation.services.scorers import request_scorer_import
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Check and copy a scorer's folder, such as one that ``manage.py convert_scorer`` wrote."""

    help = (
        "Import a scorer's folder: check and copy it atomically. The scorer can then rank candidates, be evaluated, "
        "and be trained further."
    )
    tasks = (IMPORT_SCORER,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("folder", nargs="?", type=Path, help="a folder with scorer.json and the files that it names")
        add("--project", help="the project's short name")
        add("--name", default="", help="the scorer's name")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if options["folder"] is None or not options["name"]:
            raise input_error("give FOLDER and --name, or --resume JOB")
        return request_scorer_import(
            project=find_project(options["project"]),
            by=None,
            folder=options["folder"],
            name=options["name"],
            queue=queue,
        )
