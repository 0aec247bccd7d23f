"""``manage.py create_project NAME [--short-name SHORT] [--admin USER] [--family F] [--rehearsal]``."""

from argparse import ArgumentParser
from typing import Any

from hits.management.base import DeerstalkerCommand
from hits.management.lookups import find_account
from hits.registry import family_names
from hits.services.projects import DEFAULT_FAMILY, create_project


class Command(DeerstalkerCommand):
    """Create a project with its first consent text."""

    help = "Create a project and print its short name, which other commands take as --project."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument(
            "--short-name", default="", help="used in addresses and commands; default: derived from NAME"
        )
        parser.add_argument(
            "--admin", help="account that becomes the project's admin; superusers always have that role"
        )
        parser.add_argument(
            "--family",
            default=DEFAULT_FAMILY,
            help=f"dataset family of the project's versions: {', '.join(family_names())}",
        )
        parser.add_argument(
            "--rehearsal",
            action="store_true",
            help="practice project: its data is never exported as real data",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the project and print its short name."""
        admin = find_account(options["admin"]) if options["admin"] else None
        project = create_project(
            name=options["name"],
            short_name=options["short_name"],
            by=admin,
            is_rehearsal=options["rehearsal"],
            family=options["family"],
        )
        self.report(options, {"project": project.slug, "rehearsal": project.is_rehearsal}, project.slug)
