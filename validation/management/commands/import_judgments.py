"""``manage.py import_judgments FILE --project P --kind K [--name N] [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand, emit_json
from hits.management.lookups import find_project
from validation.registry import kind_names
from validation.services.imports import import_judgments


class Command(DeerstalkerCommand):
    """Take in judgments that were made elsewhere; all of the file, or nothing of it."""

    help = "Import judgments: a leaderboard's comparison answer key (JSON), or rows of one rating (CSV, Parquet)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="an answer key (.json), or rows (.csv, .parquet)")
        parser.add_argument("--project", required=True)
        parser.add_argument("--kind", required=True, help=f"one of: {', '.join(kind_names())}")
        parser.add_argument("--name", default="", help="what the import is called; the file's name if absent")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import and say what came in."""
        project = find_project(options["project"])
        done = import_judgments(
            project=project, kind=options["kind"], path=options["file"], name=options["name"]
        )
        row = done.row
        if options["json"]:
            result = {
                "import": row.pk,
                "name": row.name,
                "judgments": row.judgments if done.is_new else 0,
                "new": done.is_new,
                "sha256": row.sha256,
            }
            emit_json(self, result)
        elif done.is_new:
            self.stdout.write(f"{row.name}: {row.judgments} judgments imported into {project.slug}")
        else:
            self.stdout.write(f"{row.name}: this file came in on {row.imported_at:%Y-%m-%d}; nothing new")
