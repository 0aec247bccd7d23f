"""``manage.py set_family PROJECT FAMILY``."""

from argparse import ArgumentParser
from typing import Any

from curation.services.families import set_family
from hits.management.base import DeerstalkerCommand, emit_json, input_error
from hits.management.lookups import find_project
from hits.registry import family_names
from hits.services.errors import Refused


class Command(DeerstalkerCommand):
    """Set the dataset family of a project's versions; possible until it has a version."""

    help = "Change the dataset family of a project that has no version yet."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument("project", help="its short name")
        parser.add_argument("family", help=f"one of: {', '.join(family_names())}")

    def handle(self, *args: Any, **options: Any) -> None:
        """Change it."""
        try:
            project = set_family(project=find_project(options["project"]), family=options["family"], by=None)
        except Refused as error:
            raise input_error(str(error)) from error
        if options["json"]:
            emit_json(self, {"project": project.slug, "family": project.family})
        else:
            self.stdout.write(f"{project.slug}: {project.family}")
