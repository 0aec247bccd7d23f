"""``manage.py set_family PROJECT FAMILY``."""

from argparse import ArgumentParser
from typing import Any

from curation.services.families import set_family
from hits.management.base import DeerstalkerCommand
from hits.management.lookups import find_project
from hits.registry import family_names


class Command(DeerstalkerCommand):
    """Set the dataset family of a project that has no version yet."""

    help = "Change the dataset family of a project that has no version yet."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument("project", help="the project's short name")
        parser.add_argument("family", help=f"one of: {', '.join(family_names())}")

    def handle(self, *args: Any, **options: Any) -> None:
        """Set the family and print it."""
        project = set_family(project=find_project(options["project"]), family=options["family"], by=None)
        facts = {"project": project.slug, "family": project.family}
        self.report(options, facts, f"{project.slug}: {project.family}")
