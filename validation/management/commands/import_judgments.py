"""``manage.py import_judgments FILE --project P --kind K [--name N] [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand, emit_json
from hits.management.lookups import find_project
from validation.registry import judging_kinds
from validation.services.judgment_imports import import_judgments


class Command(DeerstalkerCommand):
    """Import a file of judgments, all of it or nothing."""

    help = "Import judgments: a leaderboard's comparison answer key (JSON), or one rating per row (CSV, Parquet)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="an answer key (.json), or rows (.csv, .parquet)")
        parser.add_argument("--project", required=True)
        parser.add_argument("--kind", required=True, help=f"one of: {', '.join(judging_kinds())}")
        parser.add_argument("--name", default="", help="name of the import; default: the file's name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, and print the number of judgments."""
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
            self.stdout.write(f"{row.name}: already imported on {row.imported_at:%Y-%m-%d}; nothing changed")
