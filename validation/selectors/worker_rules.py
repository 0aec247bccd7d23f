"""The measures that rules compare, worker by worker, and what rules find and propose."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q, QuerySet

from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment, OutgoingCall, Project, Record
from hits.selectors.money import pay
from validation.domain.qualification.worker_rules import (
    Finding,
    Found,
    Rule,
    Series,
    Value,
    evaluate,
    is_news,
)
from validation.domain.qualification.worker_status import Measure, ProposalState, Standing
from validation.models import StandingChange, StandingProposal, StandingRule
from validation.selectors import quality
from validation.selectors.judging import review, review_tallies
from validation.selectors.worker_status import Place, standings

_OF_JUDGES = {Measure.ACCEPTABLE_SHARE, Measure.BOXES_SHARE}
# Who stands here already gains nothing from being proposed for it.
_ALREADY = {
    Standing.PAUSED: frozenset({Standing.PAUSED, Standing.DEQUALIFIED, Standing.BLOCKED}),
    Standing.DEQUALIFIED: frozenset({Standing.DEQUALIFIED, Standing.BLOCKED}),
}


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a rule would propose now, of how many workers; ``measured`` of them have enough items."""

    proposed: Sequence[Finding]
    measured: int
    workers: int


def series(project: Project, measure: Measure) -> Series:
    """Return each worker's values of a measure, oldest first; a fixed number of queries."""
    if measure is Measure.CENTS_PER_HOUR:
        return _grouped((row.worker, row.rate_cents) for row in pay.work_of(project))
    if measure is Measure.APPROVED_SHARE:
        return _decided(project)
    if measure in _OF_JUDGES:
        return quality.kept(project, "judged", _judged)[measure.value]
    return quality.series(project, measure)


def _grouped(rows: Iterable[tuple[int, Value]]) -> Series:
    found: dict[int, list[Value]] = defaultdict(list)
    for worker, value in rows:
        found[worker].append(value)
    return found


def _decided(project: Project) -> Series:
    rows = Assignment.objects.filter(hit__unit__batch__project=project, match=Match.MATCHED)
    rows = rows.exclude(status=AssignmentStatus.SUBMITTED).order_by("submitted_at", "id")
    return _grouped(
        (worker, status == AssignmentStatus.APPROVED)
        for worker, status in rows.values_list("worker_id", "status")
    )


def _judged(project: Project) -> dict[str, Series]:
    """Return by measure the majority's word on each worker's pairs, in the order in which they were first judged."""
    authors = dict(
        Record.objects.filter(project=project).values_list("instance_id", "submission__attempt__worker_id")
    )
    pairs = review_tallies(project=project).pairs
    mine = [(authors[key], review.verdicts) for key, review in pairs.items() if key in authors]
    return {
        one.measure: _grouped((worker, verdicts[one.name]) for worker, verdicts in mine)
        for one in review().decided
        if one.measure
    }


def state_of(project: Project) -> list[Any]:
    """Return what tells apart two looks of a project's rules, beside the answers' own content; a few cheap queries.

    As long as it stays the same, every rule finds what it found before.
    """
    decided = Assignment.objects.filter(hit__unit__batch__project=project, match=Match.MATCHED)
    calls = OutgoingCall.objects.filter(batch__project=project).order_by()
    rules = StandingRule.objects.filter(project=project, is_active=True).order_by("pk")
    proposals = StandingProposal.objects.filter(rule__project=project).order_by()
    return [
        quality.seen_in(project),
        sorted(decided.order_by().values_list("status").annotate(Count("pk"))),
        sorted(calls.values_list("operation", "state").annotate(Count("pk"))),
        list(rules.values_list("pk", "measure", "below", "window", "at_least", "proposes")),
        sorted(proposals.values_list("state").annotate(Count("pk"))),
        StandingChange.objects.filter(project=project).aggregate(last=Max("pk"))["last"],
    ]


def found_by(rule: Rule, project: Project) -> Found:
    """Return what a rule finds now, whatever was decided about it before."""
    return evaluate(rule, series(project, rule.measure))


def outlook(
    rule: Rule, project: Project, *, proposes: Standing, saved: StandingRule | None = None
) -> Outlook:
    """Return what a rule, saved or not, would propose now."""
    found = found_by(rule, project)
    places = standings(project, only=[finding.worker for finding in found.findings])
    decided = _decided_before(saved)
    proposed = [
        finding
        for finding in found.findings
        if places.get(finding.worker, Place()).standing not in _ALREADY[proposes]
        and is_news(finding.figures, decided.get(finding.worker, ()))
    ]
    return Outlook(proposed, found.measured, found.workers)


def _decided_before(rule: StandingRule | None) -> dict[int, list[dict[str, float]]]:
    decided: dict[int, list[dict[str, float]]] = defaultdict(list)
    if rule is not None:
        rows = StandingProposal.objects.filter(rule=rule).exclude(state=ProposalState.OPEN)
        for worker, figures in rows.values_list("worker_id", "figures"):
            decided[worker].append(figures)
    return decided


def plain(rule: StandingRule) -> Rule:
    """Return a stored rule as plain data."""
    return Rule(Measure(rule.measure), rule.below, rule.window, rule.at_least)


def rules_of(project: Project) -> list[StandingRule]:
    """Return the project's rules, each with how many proposals wait (``waiting``); one query."""
    waiting = Count("proposals", filter=Q(proposals__state=ProposalState.OPEN))
    return list(StandingRule.objects.filter(project=project).annotate(waiting=waiting).order_by("pk"))


def open_proposals(project: Project) -> "QuerySet[StandingProposal]":
    """Return the proposals that wait for a person, oldest first."""
    rows = StandingProposal.objects.filter(rule__project=project, state=ProposalState.OPEN)
    return rows.select_related("rule", "worker").order_by("pk")


def waiting_in(project: Project) -> int:
    """Return how many proposals wait for a person."""
    return StandingProposal.objects.filter(rule__project=project, state=ProposalState.OPEN).count()
