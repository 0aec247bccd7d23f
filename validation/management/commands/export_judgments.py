"""``manage.py export_judgments --project P --kind KIND --format leaderboard --out FILE [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand, bad_input, emit_json
from hits.management.rows import project_called
from validation.selectors.judging import comparison
from validation.services.leaderboard import leaderboard_key, write_json

FORMATS = ("leaderboard",)


class Command(DeerstalkerCommand):
    """Write stored ratings as an answer key that ``manage.py evaluate comparison`` reads."""

    help = "Export judgments in the published leaderboard's layout."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True)
        parser.add_argument(
            "--kind", required=True, help=f"{comparison().name}; rows of every kind: judging_report --rows"
        )
        parser.add_argument("--format", default="leaderboard", help=f"one of: {', '.join(FORMATS)}")
        parser.add_argument("--out", required=True, type=Path, help="the answer key to write")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the key."""
        if options["format"] not in FORMATS:
            raise bad_input(f"--format {options['format']}: is not known; use {', '.join(FORMATS)}")
        rated = comparison().name
        if options["kind"] != rated:
            raise bad_input(f"--kind {options['kind']}: the leaderboard’s key holds {rated} only")
        project = project_called(options["project"])
        made = leaderboard_key(project)
        write_json(options["out"], made.key)
        if options["json"]:
            result = {
                "file": str(options["out"]),
                "sets": made.sets,
                "candidates": made.candidates,
                "left_out": made.left_out,
                "simulated": made.simulated,
                "rehearsal": project.is_rehearsal,
            }
            emit_json(self, result)
            return
        mark = " (a rehearsal, not for release)" if project.is_rehearsal else ""
        self.stdout.write(
            f"{options['out']}{mark}: {made.sets} sets, {made.candidates} candidates; "
            f"{made.left_out} left out without two raters"
        )
