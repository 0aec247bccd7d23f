"""Read what judgments come to: by which rules, what each method would decide now, and what was decided before."""

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db.models import Q

from hits.domain.hashing import canonical_json
from hits.models import Job, Project
from validation.domain.agreement.dawid_skene import SMOOTHING, DawidSkene, fit
from validation.domain.judging.rating_tables import tables
from validation.domain.judging.ratings import Judged, RatingTable
from validation.domain.reports.decisions import Method, Outcome, Rule, RuleError, default_rules, outcomes
from validation.models import DecisionRun, ItemDecision, JudgingRound
from validation.registry import spec_of
from validation.selectors.ratings import judged

DECIDE = "validation.decide_items"
CHUNK = 2_000
USUAL_K = 2


@dataclass(frozen=True, slots=True)
class Counts:
    """How many items come to each outcome."""

    accept: int
    reject: int
    undecided: int

    @property
    def of(self) -> int:
        """All of them."""
        return self.accept + self.reject + self.undecided

    def as_row(self) -> dict[str, int]:
        """Return plain data."""
        return {
            Outcome.ACCEPT.value: self.accept,
            Outcome.REJECT.value: self.reject,
            Outcome.UNDECIDED.value: self.undecided,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, int]) -> "Counts":
        """Return the counts that ``as_row`` wrote."""
        return cls(row.get("accept", 0), row.get("reject", 0), row.get("undecided", 0))


@dataclass(frozen=True, slots=True)
class Material:
    """All judgments of a kind as tables, with their fingerprint and number."""

    tables: Mapping[str, RatingTable]
    sha256: str
    judgments: int


def usual_rules(kind: str) -> dict[str, Rule]:
    """Return the rules of a kind before anybody chose any: more than half of those who judged."""
    return default_rules(spec_of(kind))


def labels_on(kind: str, dimension: str) -> list[str]:
    """Return a dimension's labels, the best first."""
    return [str(label) for label in spec_of(kind).dimension(dimension).best_first]


def material(project: Project, kind: str) -> Material:
    """Return all judgments of a kind as rating tables; controls are not among them."""
    rows = list(judged(project=project, kind=kind))
    return Material(tables(rows, spec_of(kind)), _sha256(rows), len(rows))


def fits(found: Mapping[str, RatingTable], rules: Mapping[str, Rule]) -> dict[str, DawidSkene]:
    """Return the fitted model of each dimension whose rule weighs judges by it."""
    return {
        name: fit(found[name], smoothing=SMOOTHING)
        for name, rule in rules.items()
        if rule.method is Method.WEIGHTED and found[name].size
    }


def count_by_method(found: Mapping[str, RatingTable], rules: Mapping[str, Rule]) -> dict[str, dict[str, Any]]:
    """Return, by dimension and method, how many items each method would accept, reject and leave undecided.

    Each method takes what it needs from the dimension's rule. Plain data, as a job keeps it.
    """
    counted: dict[str, dict[str, Any]] = {}
    for name, rule in rules.items():
        table = found[name]
        fitted = fit(table, smoothing=SMOOTHING) if table.size else None
        counted[name] = {
            method.value: _count(table, by_method(rule, method), fitted).as_row() for method in Method
        }
    return counted


def by_method(rule: Rule, method: Method) -> Rule:
    """Return the same rule with another method; two positive judgments are asked for where none were named."""
    return replace(rule, method=method, k=rule.k or min(USUAL_K, rule.of or USUAL_K))


def newest_run(project: Project, kind: str) -> DecisionRun | None:
    """Return the run that holds now."""
    return DecisionRun.objects.filter(project=project, kind=kind).select_related("decided_by").first()


def runs(project: Project, kind: str) -> list[DecisionRun]:
    """Return the twenty newest runs, the newest first."""
    return list(DecisionRun.objects.filter(project=project, kind=kind).select_related("decided_by")[:20])


def rules_now(project: Project, kind: str) -> dict[str, Rule]:
    """Return the rules to begin with: those of the newest run, else of the newest round, else the usual ones."""
    usual = usual_rules(kind)
    run = newest_run(project, kind)
    stored = run.rules if run else _round_rules(project, kind)
    return usual | read_rules(kind, stored)


def read_rules(kind: str, stored: Mapping[str, Any]) -> dict[str, Rule]:
    """Return rules kept as plain data, without dimensions that the kind does not have or that cannot be read."""
    found = {}
    for name in usual_rules(kind):
        try:
            if name in stored:
                found[name] = Rule.from_row(stored[name])
        except RuleError:
            continue
    return found


def undecided(run: DecisionRun) -> list[str]:
    """Return the items that a run left undecided in some dimension, in their order, without their parts."""
    rows = ItemDecision.objects.filter(run=run, outcome=Outcome.UNDECIDED).order_by("pk")
    names = (item.partition("/")[0] for item in rows.values_list("item", flat=True).iterator(CHUNK))
    return list(dict.fromkeys(names))


def decisions_of(run: DecisionRun, items: Iterable[str]) -> dict[str, list[ItemDecision]]:
    """Return a run's undecided decisions about some items, by item; parts of an item stand below it."""
    found: dict[str, list[ItemDecision]] = {item: [] for item in items}
    rows = ItemDecision.objects.filter(run=run, outcome=Outcome.UNDECIDED)
    about = Q(item__in=list(found))
    for item in found if spec_of(run.kind).has_parts else ():
        about |= Q(item__startswith=f"{item}/")
    rows = rows.filter(about)
    for row in rows.order_by("pk"):
        found[row.item.partition("/")[0]].append(row)
    return found


def decision_lines(run: DecisionRun) -> Iterator[tuple[Any, ...]]:
    """Yield (item, dimension, outcome, judges, support) of a run, in its order."""
    rows = ItemDecision.objects.filter(run=run).order_by("pk")
    yield from rows.values_list("item", "dimension", "outcome", "judges", "support").iterator(CHUNK)


def newest_job(project: Project, kind: str, *, preview: bool | None = None) -> Job | None:
    """Return the newest job about decisions of a kind; ``preview`` narrows it to those that only count, or decide."""
    rows = Job.objects.filter(task=DECIDE, project=project, args__kind=kind)
    if preview is not None:
        rows = rows.filter(args__preview=preview)
    return rows.first()


def item_key(item: Hashable) -> str:
    """Return how a decision names an item: its key, or ``set/candidate``."""
    return "/".join(map(str, item)) if isinstance(item, tuple) else str(item)


def _count(table: RatingTable, rule: Rule, fitted: DawidSkene | None) -> Counts:
    if fitted is None:
        return Counts(0, 0, 0)
    signs = outcomes(table, rule, fit=fitted)[0]
    return Counts(*(int(np.count_nonzero(signs == sign)) for sign in (1, -1, 0)))


def _round_rules(project: Project, kind: str) -> Mapping[str, Any]:
    found = JudgingRound.objects.filter(batch__project=project, batch__kind=kind).order_by("-pk").first()
    return found.rules if found else {}


def _sha256(rows: Iterable[Judged]) -> str:
    """Return the fingerprint of who answered what about which item, whatever order the rows come in."""
    lines = sorted(canonical_json([row.item, row.rater, row.answer]) for row in rows)
    whole = hashlib.sha256()
    for line in lines:
        whole.update(line + b"\n")
    return whole.hexdigest()
