"""``manage.py judging_report --project P [--kind K] [--json] [--rows DIR]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand, emit_json
from hits.management.lookups import find_project
from validation.domain.judging.spec import JudgingSpec
from validation.models import JudgingReport
from validation.registry import judging_kinds, spec_of
from validation.services.rater_rows import RaterRowFiles, write_rater_rows
from validation.services.report import compute_report

# The first one that a dimension has is printed.
ALPHA_KEYS = ("alpha_ordinal", "alpha_interval", "alpha_nominal")


class Command(DeerstalkerCommand):
    """Compute a judging report, and print it."""

    help = "Compute the report of one judging kind; --rows also writes per-rater rows as CSV and Parquet."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True)
        parser.add_argument(
            "--kind", default=judging_kinds()[0], help=f"one of: {', '.join(judging_kinds())}; default: first"
        )
        parser.add_argument("--rows", type=Path, metavar="DIR", help="folder for rows.csv and rows.parquet")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compute the report, write the rows if requested, and print the result."""
        project = find_project(options["project"])
        report = compute_report(project=project, kind=options["kind"])
        rows = None
        if options["rows"]:
            rows = write_rater_rows(project=project, kind=options["kind"], folder=options["rows"])
        if options["json"]:
            emit_json(self, _json_result(report, rows))
        else:
            self._print_summary(report, rows, options["rows"])

    def _print_summary(self, report: JudgingReport, rows: RaterRowFiles | None, folder: Path | None) -> None:
        figures = report.figures
        if type(spec_of(report.kind)).summary is not JudgingSpec.summary:
            self.stdout.write(figures["sentence"] or "No summary: too few judgments.")
        state = (
            "the report is unchanged since it was computed"
            if figures.get("unchanged")
            else "the report was computed now"
        )
        self.stdout.write(
            f"{report.judgments} judgments of {figures['items']} items by {figures['raters']} raters, {state}; "
            f"data {report.data_sha256[:16]}"
        )
        for name, found in figures["dimensions"].items():
            summary = f"{found['ratings']} ratings"
            alpha_key = next((key for key in ALPHA_KEYS if key in found["coefficients"]), None)
            if alpha_key is not None:  # regions and texts have no scale
                alpha = (found["coefficients"][alpha_key] or {}).get("value")
                scale = alpha_key.removeprefix("alpha_")
                summary += f", {scale} alpha {'undefined' if alpha is None else f'{alpha:.3f}'}"
            self.stdout.write(f"  {name}: {summary}")
        if rows is not None:
            self.stdout.write(f"{rows.rows} rows in {folder}")


def _json_result(report: JudgingReport, rows: RaterRowFiles | None) -> dict[str, Any]:
    return {
        "project": report.project.slug,
        "kind": report.kind,
        "judgments": report.judgments,
        "ratings": report.ratings,
        "seconds": report.seconds,
        "data_sha256": report.data_sha256,
        "figures": report.figures,
        "workers": [
            {"rank": row.rank, "worker": str(row.worker), "figures": row.figures}
            for row in report.workers.select_related("worker")
        ],
        "rows": None if rows is None else rows.as_row(),
    }
