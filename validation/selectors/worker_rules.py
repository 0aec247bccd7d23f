"""Read the measures of worker rules, and the rules' findings and proposals."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q, QuerySet

from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.models import Assignment, OutgoingCall, Project, Record
from hits.selectors.money import pay
from validation.domain.qualification.worker_rules import (
    RuleFinding,
    RuleResult,
    RuleSettings,
    Series,
    Value,
    evaluate_rule,
    has_new_items,
)
from validation.domain.qualification.worker_status import Measure, ProposalState, WorkerStatus
from validation.models import RuleProposal, StatusChange, WorkerRule
from validation.selectors import quality
from validation.selectors.judging import pair_judgments, review_spec
from validation.selectors.work_reviews import reviewed_series
from validation.selectors.worker_status import CurrentStatus, current_statuses

_JUDGED_MEASURES = {Measure.ACCEPTABLE_SHARE, Measure.BOXES_SHARE}
# A rule proposes nothing for workers who already have one of these statuses.
_STATUSES_WITHOUT_PROPOSAL = {
    WorkerStatus.PAUSED: frozenset({WorkerStatus.PAUSED, WorkerStatus.DEQUALIFIED, WorkerStatus.BLOCKED}),
    WorkerStatus.DEQUALIFIED: frozenset({WorkerStatus.DEQUALIFIED, WorkerStatus.BLOCKED}),
}


@dataclass(frozen=True, slots=True)
class RulePreview:
    """The proposals that a rule would make now; ``measured`` of ``workers`` have enough items."""

    proposed: Sequence[RuleFinding]
    measured: int
    workers: int


def measure_series(project: Project, measure: Measure) -> Series:
    """Return each worker's values of a measure, oldest first; a fixed number of queries."""
    if measure is Measure.CENTS_PER_HOUR:
        return _group_by_worker((row.worker, row.rate_cents) for row in pay.measured_work(project))
    if measure is Measure.APPROVED_SHARE:
        return _approval_series(project)
    if measure is Measure.REVIEWED_SHARE:
        return quality.cached_result(project, measure.value, reviewed_series)
    if measure in _JUDGED_MEASURES:
        return quality.cached_result(project, "judged", _verdict_series_by_measure)[measure.value]
    return quality.quality_series(project, measure)


def _group_by_worker(rows: Iterable[tuple[int, Value]]) -> Series:
    by_worker: dict[int, list[Value]] = defaultdict(list)
    for worker, value in rows:
        by_worker[worker].append(value)
    return by_worker


def _approval_series(project: Project) -> Series:
    rows = Assignment.objects.filter(hit__unit__batch__project=project, match=SubmissionMatch.MATCHED)
    rows = rows.exclude(status=AssignmentStatus.SUBMITTED).order_by("submitted_at", "id")
    return _group_by_worker(
        (worker, status == AssignmentStatus.APPROVED)
        for worker, status in rows.values_list("worker_id", "status")
    )


def _verdict_series_by_measure(project: Project) -> dict[str, Series]:
    """Return by measure the majority verdicts on each worker's pairs, in the order of their first judgment."""
    authors = dict(
        Record.objects.filter(project=project).values_list("instance_id", "submission__attempt__worker_id")
    )
    pairs = pair_judgments(project=project)
    pair_verdicts = [(authors[key], review.verdicts) for key, review in pairs.items() if key in authors]
    return {
        dimension.measure: _group_by_worker(
            (worker, verdicts[dimension.name]) for worker, verdicts in pair_verdicts
        )
        for dimension in review_spec().deciding_dimensions
        if dimension.measure
    }


def rule_inputs_fingerprint(project: Project) -> list[Any]:
    """Return a fingerprint of the data that a project's rules read; cheap queries only.

    While it stays the same, every rule has the same findings.
    """
    decided = Assignment.objects.filter(hit__unit__batch__project=project, match=SubmissionMatch.MATCHED)
    calls = OutgoingCall.objects.filter(batch__project=project).order_by()
    rules = WorkerRule.objects.filter(project=project, is_active=True).order_by("pk")
    proposals = RuleProposal.objects.filter(rule__project=project).order_by()
    return [
        quality.answers_fingerprint(project),
        sorted(decided.order_by().values_list("status").annotate(Count("pk"))),
        sorted(calls.values_list("operation", "state").annotate(Count("pk"))),
        list(rules.values_list("pk", "measure", "below", "window", "at_least", "proposes")),
        sorted(proposals.values_list("state").annotate(Count("pk"))),
        StatusChange.objects.filter(project=project).aggregate(last=Max("pk"))["last"],
    ]


def compute_rule_findings(rule: RuleSettings, project: Project) -> RuleResult:
    """Return a rule's current findings, including those about which somebody has decided."""
    return evaluate_rule(rule, measure_series(project, rule.measure))


def preview_rule(
    rule: RuleSettings, project: Project, *, proposes: WorkerStatus, saved: WorkerRule | None = None
) -> RulePreview:
    """Return the proposals that a rule, saved or not, would make now."""
    result = compute_rule_findings(rule, project)
    statuses = current_statuses(project, workers=[finding.worker for finding in result.findings])
    decided = _decided_proposal_figures(saved)
    proposed = [
        finding
        for finding in result.findings
        if statuses.get(finding.worker, CurrentStatus()).status not in _STATUSES_WITHOUT_PROPOSAL[proposes]
        and has_new_items(finding.figures, decided.get(finding.worker, ()))
    ]
    return RulePreview(proposed, result.measured, result.workers)


def _decided_proposal_figures(rule: WorkerRule | None) -> dict[int, list[dict[str, float]]]:
    decided: dict[int, list[dict[str, float]]] = defaultdict(list)
    if rule is not None:
        rows = RuleProposal.objects.filter(rule=rule).exclude(state=ProposalState.OPEN)
        for worker, figures in rows.values_list("worker_id", "figures"):
            decided[worker].append(figures)
    return decided


def rule_settings(rule: WorkerRule) -> RuleSettings:
    """Return the settings of a stored rule."""
    return RuleSettings(Measure(rule.measure), rule.below, rule.window, rule.at_least)


def list_rules(project: Project) -> list[WorkerRule]:
    """Return the project's rules with the number of open proposals (``waiting``); one query."""
    waiting = Count("proposals", filter=Q(proposals__state=ProposalState.OPEN))
    return list(WorkerRule.objects.filter(project=project).annotate(waiting=waiting).order_by("pk"))


def open_proposals(project: Project) -> "QuerySet[RuleProposal]":
    """Return the open proposals, oldest first."""
    rows = RuleProposal.objects.filter(rule__project=project, state=ProposalState.OPEN)
    return rows.select_related("rule", "worker").order_by("pk")


def count_open_proposals(project: Project) -> int:
    """Return the number of open proposals."""
    return RuleProposal.objects.filter(rule__project=project, state=ProposalState.OPEN).count()
