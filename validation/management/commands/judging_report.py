"""``manage.py judging_report --project P [--kind K] [--json] [--rows DIR]``."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand, emit_json
from hits.management.lookups import find_project
from validation.domain.judging.spec import JudgingSpec
from validation.models import JudgingReport
from validation.registry import kind_names, spec_of
from validation.services.rater_rows import RaterRowFiles, write_rater_rows
from validation.services.report import compute_report

ALPHA_KEYS = (
    "alpha_ordinal",
    "alpha_interval",
    "alpha_nominal",
)  # the first that a dimension's scale allows is told


class Command(DeerstalkerCommand):
    """Compute a judging report now, and print it."""

    help = (
        "Compute the report on one kind of judgments; --rows also writes per-rater rows as CSV and Parquet."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True)
        parser.add_argument(
            "--kind", default=kind_names()[0], help=f"one of: {', '.join(kind_names())}; the first if absent"
        )
        parser.add_argument("--rows", type=Path, metavar="DIR", help="folder for rows.csv and rows.parquet")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compute, write the rows where they are wanted, and print."""
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
            self.stdout.write(figures["sentence"] or "No sentence: too little was judged.")
        state = "unchanged since it was computed" if figures.get("unchanged") else "computed now"
        self.stdout.write(
            f"{report.judgments} judgments of {figures['items']} items by {figures['raters']} people, {state}; "
            f"data {report.data_sha256[:16]}"
        )
        for name, found in figures["dimensions"].items():
            told = f"{found['ratings']} ratings"
            name_of_alpha = next((one for one in ALPHA_KEYS if one in found["coefficients"]), None)
            if name_of_alpha is not None:  # regions and texts are no scale
                alpha = (found["coefficients"][name_of_alpha] or {}).get("value")
                scale = name_of_alpha.removeprefix("alpha_")
                told += f", {scale} alpha {'undefined' if alpha is None else f'{alpha:.3f}'}"
            self.stdout.write(f"  {name}: {told}")
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
        "rows": None if rows is None else {**asdict(rows), "made_at": rows.made_at.isoformat()},
    }
