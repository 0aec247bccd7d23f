"""``manage.py audit_shortcuts --project P --version V [--split S]``: the figures of baselines without the image."""

from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from curation.evaluation.measures import MEASURES, get_figure
from curation.evaluation.shortcuts import Shortcut
from curation.families.sherlock.evaluation_plan import ALL
from curation.management.lookups import get_version, resolve_split
from curation.models import Evaluation
from curation.selectors.jobs import SHORTCUTS
from curation.services.shortcuts import ShortcutOptions, request_shortcuts
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job

MEANING = (
    "The more a baseline exceeds Random, the better inferences can be guessed from words alone, and the less a "
    "model's figures depend on the image."
)


class Command(JobCommand):
    """Evaluate baselines without photos on the evaluation sets of a sealed version."""

    help = "Measure how well baselines that do not see the image retrieve, localize and order inferences."
    tasks = (SHORTCUTS,)
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", help="the project's short name")
        add("--version", help="a sealed version")
        add("--split", help=f"train, val, test or {ALL}; default: test, else val")
        add(
            "--only",
            default="",
            help=f"evaluate only these baselines, comma-separated: {', '.join(Shortcut)}",
        )
        add("--seed", type=int, default=0, help="seed of all random choices (0)")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job that evaluates the baselines."""
        version = get_version(options["version"], find_project(options["project"]))
        chosen = ShortcutOptions(split=resolve_split(version, options["split"]), seed=options["seed"])
        if only := tuple(filter(None, options["only"].split(","))):
            chosen = replace(chosen, which=only)
        return request_shortcuts(version=version, options=chosen, by=None, queue=queue)

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the figures and their meaning."""
        rows = Evaluation.objects.filter(pk__in=job.result["evaluations"]).order_by("pk")
        found = [{"label": row.label, **row.options, "figures": row.figures} for row in rows]
        facts = {"job": job.pk, "state": job.state, "baselines": found, "meaning": MEANING}
        self.report(options, facts, *map(_describe_row, rows), MEANING)


def _describe_row(row: Evaluation) -> str:
    figures = (f"{measure.short} {_format_figure(row, measure.figure_path)}" for measure in MEASURES.values())
    return f"{row.label}: {', '.join(figures)}"


def _format_figure(row: Evaluation, path: tuple[str, str]) -> str:
    found = get_figure(row.figures, path)
    value, low, high = (found.get(name) for name in ("value", "low", "high"))
    if value is None:
        return "–"
    return f"{value:.1f}" if low is None or high is None else f"{value:.1f} ({low:.1f} to {high:.1f})"
