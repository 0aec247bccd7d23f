"""``manage.py download_results BATCH --out FILE [--plain]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.domain.mturk_formats.results_csv import csv_lines
from hits.management.base import BatchCommand, input_error
from hits.management.lookups import find_batch
from hits.selectors.results import count_results, result_rows
from hits.services import audit


class Command(BatchCommand):
    """Write a batch's confirmed submissions to a CSV in Mechanical Turk's columns."""

    help = "Write a batch's results to a CSV with Mechanical Turk's columns."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("--out", type=Path, required=True, help="output file; it must not exist")
        parser.add_argument(
            "--plain",
            action="store_true",
            help="do not escape cells that begin with = + - @; for scripts",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write a temporary file, then rename it, so that no reader sees an incomplete file."""
        batch, out = find_batch(options["batch"]), options["out"]
        if out.exists():
            raise input_error(f"--out {out}: it exists already; name another file")
        part = out.with_name(f"{out.name}.part")
        rows = count_results(batch)
        try:
            with part.open("w", encoding="utf-8", newline="") as file:
                file.writelines(csv_lines(result_rows(batch), guard=not options["plain"]))
            part.replace(out)
        except OSError as error:
            raise input_error(f"--out {out}: it cannot be written: {error.strerror}") from error
        audit.record(
            project=batch.project, actor=None, action="results.download", subject=batch.pk, rows=rows
        )
        self.report(options, {"batch": batch.pk, "rows": rows, "file": str(out)}, f"{rows} rows in {out}")
