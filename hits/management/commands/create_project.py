"""``manage.py create_project NAME [--short-name SHORT] [--admin USER] [--family F] [--rehearsal]``."""

from argparse import ArgumentParser
from typing import Any

from hits.management.base import DeerstalkerCommand, emit_json
from hits.management.rows import account_called
from hits.registry import family_names
from hits.services.projects import DEFAULT_FAMILY, create_project


class Command(DeerstalkerCommand):
    """Make a project with its first consent text."""

    help = "Make a project; its short name is what the other commands take as --project."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument(
            "--short-name", default="", help="what addresses and commands call it; else made from NAME"
        )
        parser.add_argument("--admin", help="the account that shall be its admin; superusers always are")
        parser.add_argument(
            "--family", default=DEFAULT_FAMILY, help=f"of its versions, one of: {', '.join(family_names())}"
        )
        parser.add_argument("--rehearsal", action="store_true", help="never exported as real data")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create, and print the short name."""
        admin = account_called(options["admin"]) if options["admin"] else None
        project = create_project(
            name=options["name"],
            short_name=options["short_name"],
            by=admin,
            is_rehearsal=options["rehearsal"],
            family=options["family"],
        )
        if options["json"]:
            emit_json(self, {"project": project.slug, "rehearsal": project.is_rehearsal})
        else:
            self.stdout.write(project.slug)
