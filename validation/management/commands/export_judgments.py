"""``manage.py export_judgments --project P --kind KIND --format leaderboard --out FILE [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project
from validation.selectors.judging import comparison_spec
from validation.services.leaderboard import build_leaderboard_answer_key, write_json

FORMATS = ("leaderboard",)


class Command(DeerstalkerCommand):
    """Write stored ratings as an answer key that ``manage.py evaluate comparison`` reads."""

    help = "Export ratings as an answer key in the published leaderboard's format."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True)
        parser.add_argument(
            "--kind",
            required=True,
            help=f"{comparison_spec().name}; for rows of other kinds use judging_report --rows",
        )
        parser.add_argument("--format", default="leaderboard", help=f"one of: {', '.join(FORMATS)}")
        parser.add_argument("--out", required=True, type=Path, help="path of the answer key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the answer key."""
        if options["format"] not in FORMATS:
            raise input_error(f"--format {options['format']}: unknown format; use {', '.join(FORMATS)}")
        rated_kind = comparison_spec().name
        if options["kind"] != rated_kind:
            raise input_error(f"--kind {options['kind']}: the leaderboard’s key contains only {rated_kind}")
        project = find_project(options["project"])
        made = build_leaderboard_answer_key(project)
        write_json(options["out"], made.key)
        facts = {
            "file": str(options["out"]),
            "sets": made.sets,
            "candidates": made.candidates,
            "left_out": made.left_out,
            "simulated": made.simulated,
            "rehearsal": project.is_rehearsal,
        }
        mark = " (a rehearsal, not for release)" if project.is_rehearsal else ""
        counts = f"{made.sets} sets, {made.candidates} candidates"
        left_out = f"{made.left_out} sets left out because they have fewer than two raters"
        self.report(options, facts, f"{options['out']}{mark}: {counts}; {left_out}")
