"""``manage.py decide --project P --kind K [--rules FILE] [--json]``."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project
from validation.domain.decision_rules import DecisionRule, RuleError
from validation.registry import decidable_kinds
from validation.selectors.decisions import current_rules
from validation.services.decisions import decide_items


class Command(DeerstalkerCommand):
    """Decide all judged items of a kind, like the decisions page."""

    help = "Decide judged items by rules, and store the run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True)
        parser.add_argument("--kind", required=True, help=" or ".join(decidable_kinds()))
        parser.add_argument(
            "--rules", type=Path, help="JSON file {dimension: rule}; default: the rules of the newest run"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Decide, and print the counts of each outcome."""
        project = find_project(options["project"])
        kind = options["kind"]
        rules = _read_rules(options["rules"]) if options["rules"] else current_rules(project, kind)
        decided = decide_items(project=project, kind=kind, rules=rules, by=None)
        run = decided.run
        result = {
            "run": run.pk,
            "new": decided.is_new,
            "data_sha256": run.data_sha256,
            "judgments": run.counts["judgments"],
            "dimensions": run.counts["dimensions"],
        }
        lines = [
            f"{name}: {counts['accept']} accepted, {counts['reject']} rejected, {counts['undecided']} undecided"
            for name, counts in run.counts["dimensions"].items()
        ]
        unchanged = "" if decided.is_new else "; the judgments and rules are the same as in that run"
        self.report(options, result, *lines, f"run {run.pk}{unchanged}")


def _read_rules(path: Path) -> dict[str, DecisionRule]:
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise input_error(f"--rules {path}: {error}") from error
    if not isinstance(raw, dict) or not all(isinstance(row, dict) for row in raw.values()):
        raise input_error(f"--rules {path}: use an object of rules by dimension")
    found = {}
    for name, row in raw.items():
        try:
            found[name] = DecisionRule.from_row({"dimension": name} | row)
        except RuleError as error:
            raise input_error(f"--rules {path}: {name}, {error.field}: {error}") from error
    return found
