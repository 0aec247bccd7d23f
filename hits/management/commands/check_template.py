"""``manage.py check_template FILE [CSV] [--host cdn.example.org] [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from hits.domain.task_template.check import check_template
from hits.domain.task_template.findings import Finding
from hits.management.base import DeerstalkerCommand
from hits.management.template_files import read_page_file, read_table_file


class Command(DeerstalkerCommand):
    """Check an uploaded page; the exit status is 1 if it has errors."""

    help = "Check an HTML page with ${variables} and, if given, the CSV with their values. Exits with 1 on errors."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("file", type=Path)
        parser.add_argument("csv", type=Path, nargs="?")
        parser.add_argument(
            "--host", action="append", default=[], help="host that the launch will allow; repeatable"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the findings."""
        html = read_page_file(options["file"])
        table = read_table_file(options["csv"], html) if options["csv"] else None
        report = check_template(html, table, allowed=options["host"])
        facts = {
            "to_mend": report.error_count,
            "advice": len(report.findings) - report.error_count,
            "rows": len(table.rows) if table else None,
            "variables": [variable.name for variable in report.variables],
            "hosts": list(report.hosts),
            "findings": [finding.as_row() for finding in report.findings],
        }
        self.report(options, facts, *map(_finding_line, report.findings))
        if report.error_count:
            raise CommandError(f"{report.error_count} errors to fix", returncode=1)


def _finding_line(finding: Finding) -> str:
    where = f"line {finding.line}" if finding.line else "CSV"
    return f"{where}: {finding.severity.value}: {finding.problem}. {finding.fix}."
