"""``manage.py export_audit NUMBER --out FILE.json|FILE.csv [--json]``."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from curation.audits.export import csv_columns, csv_rows
from curation.files import write_text
from curation.models import Audit, AuditState
from curation.records import InvalidInput
from curation.selectors.audits import LabelledAudit, audit_codebook, audit_document, load_labelled_audit
from hits.domain.files.csv_download import csv_lines
from hits.management.base import DeerstalkerCommand, input_error

SUFFIXES = (".json", ".csv")


class Command(DeerstalkerCommand):
    """Export an audit with anonymous readers, as the audit's page does."""

    help = "Export an audit as one JSON document, or as CSV with a line per pair and question."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument("audit", type=int, help="the audit's number, as in its address")
        parser.add_argument("--out", required=True, type=Path, help="a new file that ends in .json or .csv")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file atomically."""
        out: Path = options["out"]
        audit = _get_audit(options["audit"])
        if out.suffix not in SUFFIXES:
            raise input_error(f"--out {out}: the name determines the format; end it in .json or .csv")
        if out.exists():
            raise input_error(f"--out {out}: exists already; choose another name")
        labelled = load_labelled_audit(audit)
        try:
            write_text(out, _json(audit, labelled) if out.suffix == ".json" else _csv(audit, labelled))
        except InvalidInput as error:
            raise input_error(f"--out {error}") from error
        facts = {"audit": audit.pk, "state": audit.state, "pairs": len(labelled.items), "out": str(out)}
        facts["rehearsal"] = audit.project.is_rehearsal
        mark = " (a rehearsal, not for release)" if audit.project.is_rehearsal else ""
        self.report(options, facts, f"{audit.name}{mark}: {len(labelled.items)} pairs in {out}")


def _get_audit(number: int) -> Audit:
    audit = Audit.objects.filter(pk=number).select_related("project").first()
    if audit is None:
        known = ", ".join(map(str, Audit.objects.values_list("pk", flat=True)[:10])) or "none yet"
        raise input_error(f"audit {number}: there is no such audit; known: {known}")
    return audit


def _json(audit: Audit, labelled: LabelledAudit) -> Iterable[str]:
    yield json.dumps(audit_document(audit, labelled), ensure_ascii=False, allow_nan=False, indent=1)
    yield "\n"


def _csv(audit: Audit, labelled: LabelledAudit) -> Iterable[str]:
    codebook, letters = audit_codebook(audit), labelled.letters
    rows = csv_rows(labelled.items, codebook, letters, is_open=audit.state == AuditState.OPEN)
    return csv_lines(csv_columns(letters), rows)
