"""Read decision rules, the outcome that each method would give now, and earlier decision runs."""

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from django.db.models import Q

from hits.domain.hashing import canonical_json
from hits.models import Job, Project
from validation.domain.agreement.dawid_skene import SMOOTHING, DawidSkene, fit
from validation.domain.decision_rules import (
    DecisionRule,
    Method,
    Outcome,
    RuleError,
    decide_as_arrays,
    default_rules,
)
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow, RatingTable
from validation.models import DecisionRun, ItemDecision, JudgingRound
from validation.registry import spec_of
from validation.selectors.ratings import read_judgments

DECIDE_TASK = "validation.decide_items"
CHUNK_SIZE = 2_000  # rows per fetch
DEFAULT_K = 2  # positive judgments


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """The number of items with each outcome."""

    accept: int
    reject: int
    undecided: int

    @property
    def total(self) -> int:
        """The number of all items."""
        return self.accept + self.reject + self.undecided


@dataclass(frozen=True, slots=True)
class JudgmentTables:
    """All judgments of a kind as rating tables by dimension, with their fingerprint and number."""

    tables: Mapping[str, RatingTable]
    sha256: str
    judgments: int


def default_rules_of_kind(kind: str) -> dict[str, DecisionRule]:
    """Return the default rules of a kind: a majority rule for each deciding dimension."""
    return default_rules(spec_of(kind))


def dimension_labels(kind: str, dimension: str) -> list[str]:
    """Return a dimension's labels, best first."""
    return [str(label) for label in spec_of(kind).dimension(dimension).labels_best_first]


def judgment_tables(project: Project, kind: str) -> JudgmentTables:
    """Return all judgments of a kind as rating tables, without quality checks."""
    rows = list(read_judgments(project=project, kind=kind))
    return JudgmentTables(build_tables(rows, spec_of(kind)), _judgments_fingerprint(rows), len(rows))


def fit_models_of_weighted_rules(
    tables_by_dimension: Mapping[str, RatingTable], rules: Mapping[str, DecisionRule]
) -> dict[str, DawidSkene]:
    """Return the fitted Dawid-Skene model of each dimension whose rule weights judges by reliability."""
    return {
        name: fit(tables_by_dimension[name], smoothing=SMOOTHING)
        for name, rule in rules.items()
        if rule.method is Method.WEIGHTED and tables_by_dimension[name].size
    }


def count_outcomes_by_method(
    tables_by_dimension: Mapping[str, RatingTable], rules: Mapping[str, DecisionRule]
) -> dict[str, dict[str, Any]]:
    """Return, by dimension and method, how many items each method would accept, reject and leave undecided.

    Each method takes its parameters from the dimension's rule. The result is JSON data, since jobs store it.
    """
    counts: dict[str, dict[str, Any]] = {}
    for name, rule in rules.items():
        table = tables_by_dimension[name]
        fitted = fit(table, smoothing=SMOOTHING) if table.size else None
        counts[name] = {
            method.value: asdict(_count_outcomes(table, rule_with_method(rule, method), fitted))
            for method in Method
        }
    return counts


def rule_with_method(rule: DecisionRule, method: Method) -> DecisionRule:
    """Return the rule with another method; ``k`` defaults to two positive judgments."""
    return replace(rule, method=method, k=rule.k or min(DEFAULT_K, rule.of or DEFAULT_K))


def newest_run(project: Project, kind: str) -> DecisionRun | None:
    """Return the newest run, whose decisions apply."""
    return DecisionRun.objects.filter(project=project, kind=kind).select_related("decided_by").first()


def newest_runs(project: Project, kind: str) -> list[DecisionRun]:
    """Return the twenty newest runs, newest first."""
    return list(DecisionRun.objects.filter(project=project, kind=kind).select_related("decided_by")[:20])


def current_rules(project: Project, kind: str) -> dict[str, DecisionRule]:
    """Return the rules of the newest run, else of the newest round, else the defaults."""
    defaults = default_rules_of_kind(kind)
    run = newest_run(project, kind)
    stored = run.rules if run else _newest_round_rules(project, kind)
    return defaults | parse_valid_rules(kind, stored)


def parse_valid_rules(kind: str, stored: Mapping[str, Any]) -> dict[str, DecisionRule]:
    """Parse stored rules; unknown dimensions and invalid rules are left out."""
    rules = {}
    for name in default_rules_of_kind(kind):
        try:
            if name in stored:
                rules[name] = DecisionRule.from_row(stored[name])
        except RuleError:
            continue
    return rules


def undecided_item_keys(run: DecisionRun) -> list[str]:
    """Return the items that a run left undecided in some dimension, in order, without their parts."""
    rows = ItemDecision.objects.filter(run=run, outcome=Outcome.UNDECIDED).order_by("pk")
    names = (item.partition("/")[0] for item in rows.values_list("item", flat=True).iterator(CHUNK_SIZE))
    return list(dict.fromkeys(names))


def undecided_decisions(run: DecisionRun, items: Iterable[str]) -> dict[str, list[ItemDecision]]:
    """Return a run's undecided decisions by item; decisions about parts are listed under their item."""
    by_item: dict[str, list[ItemDecision]] = {item: [] for item in items}
    rows = ItemDecision.objects.filter(run=run, outcome=Outcome.UNDECIDED)
    about_items = Q(item__in=list(by_item))
    for item in by_item if spec_of(run.kind).has_parts else ():
        about_items |= Q(item__startswith=f"{item}/")
    rows = rows.filter(about_items)
    for row in rows.order_by("pk"):
        by_item[row.item.partition("/")[0]].append(row)
    return by_item


def decision_rows(run: DecisionRun) -> Iterator[tuple[Any, ...]]:
    """Yield (item, dimension, outcome, judges, support) of a run, in order."""
    rows = ItemDecision.objects.filter(run=run).order_by("pk")
    yield from rows.values_list("item", "dimension", "outcome", "judge_count", "support").iterator(CHUNK_SIZE)


def newest_decision_job(project: Project, kind: str, *, preview: bool | None = None) -> Job | None:
    """Return a kind's newest decision job; ``preview`` selects jobs that only count, or jobs that decide."""
    rows = Job.objects.filter(task=DECIDE_TASK, project=project, args__kind=kind)
    if preview is not None:
        rows = rows.filter(args__preview=preview)
    return rows.first()


def item_key(item: Hashable) -> str:
    """Return the key of an item in decisions: its own key, or ``set/candidate``."""
    return "/".join(map(str, item)) if isinstance(item, tuple) else str(item)


def _count_outcomes(table: RatingTable, rule: DecisionRule, fitted: DawidSkene | None) -> OutcomeCounts:
    if fitted is None:
        return OutcomeCounts(0, 0, 0)
    signs = decide_as_arrays(table, rule, fit=fitted)[0]
    return OutcomeCounts(*(int(np.count_nonzero(signs == sign)) for sign in (1, -1, 0)))


def _newest_round_rules(project: Project, kind: str) -> Mapping[str, Any]:
    found = JudgingRound.objects.filter(batch__project=project, batch__kind=kind).order_by("-pk").first()
    return found.rules if found else {}


def _judgments_fingerprint(rows: Iterable[JudgmentRow]) -> str:
    """Return a SHA-256 of (item, rater, answer) rows that is independent of their order."""
    lines = sorted(canonical_json([row.item, row.rater, row.answer]) for row in rows)
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line + b"\n")
    return digest.hexdigest()
