"""One worker's history in a project: consent, submissions, grades, feedback and decisions in order of time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Count, Max, Min, Q, QuerySet

from hits import registry
from hits.domain.states import (
    AssignmentStatus,
    CallState,
    Purpose,
    ReviewVerdict,
    SubmissionMatch,
    TrainingOutcome,
)
from hits.domain.workers.countries import country_name_or_code
from hits.models import Assignment, Decision, Declaration, Participation, Project, Worker, WorkerDecision
from validation.domain.qualification.worker_status import ProposalState
from validation.models import GradingOutcome, RuleProposal, StatusChange
from validation.selectors.training import feedback_for

SUBMISSION_ROUTE = "assignment-detail"
MAX_DECISIONS = 100  # newest reviews in the history
_ACTION_TITLES = {"grant": "Granted", "revoke": "Revoked", "block": "Blocked", "unblock": "Lifted the block"}
_SINGLE_PURPOSES = (Purpose.QUALIFYING, Purpose.TRAINING)  # each submission is an event of its own


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One event of the history. ``route`` and ``key`` identify the page with details, if there is one.

    ``state``: empty, ``outstanding``, or ``refused`` for a call to the marketplace that is not done.
    """

    at: datetime
    title: str
    text: str = ""
    by: str = ""
    route: str = ""
    key: int = 0
    state: str = ""


def worker_history(worker: Worker, project: Project) -> list[HistoryEvent]:
    """Return the worker's history, newest first; a fixed number of queries."""
    sources = (
        _consent_events,
        _country_events,
        _application_and_training_events,
        _batch_events,
        _grading_events,
        _feedback_events,
        _review_events,
        _status_events,
        _dismissed_proposal_events,
        _worker_decision_events,
    )
    events = [event for source in sources for event in source(worker, project)]
    return sorted(events, key=lambda event: event.at, reverse=True)


def _actor_name(user: AbstractBaseUser | None) -> str:
    return user.get_username() if user is not None else "a script"


def _consent_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    for row in Participation.objects.filter(worker=worker, project=project).select_related("consent"):
        yield HistoryEvent(row.agreed_at, f"Agreed to consent text v{row.consent.version}")


def _country_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    for row in Declaration.objects.filter(worker=worker, project=project):
        yield HistoryEvent(row.declared_at, f"Declared country: {country_name_or_code(row.country)}")


def _application_and_training_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    """Yield one event per qualification or training submission."""
    rows = _submissions(worker, project).filter(
        hit__unit__batch__kind__in=registry.kinds_with_purpose(*_SINGLE_PURPOSES)
    )
    attempts = 0
    for row in rows.select_related("hit__unit__batch").order_by("submitted_at", "id"):
        batch = row.hit.unit.batch
        title = "Applied: submitted the qualification task"
        if registry.get_kind(batch.kind).purpose is Purpose.TRAINING:
            attempts += 1
            title = f"Submitted training attempt {attempts}"
        yield HistoryEvent(
            row.submitted_at, title, _review_state_label(row.status), route=SUBMISSION_ROUTE, key=row.pk
        )


def _batch_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    """Yield one event per batch of other work, at the time of its last submission."""
    rows = (
        _submissions(worker, project)
        .exclude(hit__unit__batch__kind__in=registry.kinds_with_purpose(*_SINGLE_PURPOSES))
        .order_by()
    )
    grouped = rows.values("hit__unit__batch", "hit__unit__batch__name").annotate(
        n=Count("id"),
        first=Min("submitted_at"),
        last=Max("submitted_at"),
        approved=Count("id", filter=Q(status=AssignmentStatus.APPROVED)),
        rejected=Count("id", filter=Q(status=AssignmentStatus.REJECTED)),
    )
    for row in grouped:
        plural = "s" if row["n"] > 1 else ""
        text = f"{row['approved']} approved, {row['rejected']} rejected"
        if row["n"] > 1:
            text += f"; first on {row['first']:%-d %b %Y}"
        title = f"{row['n']} submission{plural} in {row['hit__unit__batch__name']}"
        yield HistoryEvent(row["last"], title, text, route="batch-detail", key=row["hit__unit__batch"])


def _grading_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    rows = GradingOutcome.objects.filter(
        submission__attempt__worker=worker, submission__attempt__hit__unit__batch__project=project
    )
    for row in rows.select_related("decided_by"):
        exam = f", exam {row.exam_right} of {row.exam_asked}" if row.exam_asked else ""
        verdict = "passed" if row.passed else "not passed"
        title = f"Graded: {row.reasonable} of {row.graded} pairs reasonable{exam}; {verdict}"
        yield HistoryEvent(row.decided_at, title, row.reason, _actor_name(row.decided_by))


def _feedback_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    for row in feedback_for(worker, project):
        verdict = "ready" if row.outcome == TrainingOutcome.COMPLETE else "try again"
        count = len(row.remarks)
        title = f"Trainer’s answer: {verdict}" + (
            f", {count} remark{'s' if count > 1 else ''}" if count else ""
        )
        key = row.submission.assignment.pk
        yield HistoryEvent(
            row.written_at, title, row.summary, _actor_name(row.written_by), SUBMISSION_ROUTE, key
        )


def _review_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    """Yield rejections, and approvals with feedback; other approvals are in their batch's event."""
    rows = Decision.objects.filter(assignment__worker=worker, assignment__hit__unit__batch__project=project)
    single = registry.kinds_with_purpose(*_SINGLE_PURPOSES)
    rows = rows.exclude(assignment__hit__unit__batch__kind__in=single, verdict=ReviewVerdict.APPROVE)
    rows = (
        rows.exclude(verdict=ReviewVerdict.APPROVE, feedback="").select_related("decided_by").order_by("-pk")
    )
    for row in rows[:MAX_DECISIONS]:
        word = "Approved" if row.verdict == ReviewVerdict.APPROVE else "Rejected"
        key = row.assignment_id
        yield HistoryEvent(
            row.decided_at,
            f"{word} submission {key}",
            row.feedback,
            _actor_name(row.decided_by),
            SUBMISSION_ROUTE,
            key,
        )


def _status_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    rows = StatusChange.objects.filter(worker=worker, project=project)
    for row in rows.select_related("decided_by", "proposal__rule"):
        title = f"Status: {row.status}"
        if row.proposal is not None:
            title += f", proposed by the rule “{row.proposal.rule.name}”"
        yield HistoryEvent(row.decided_at, title, row.reason, _actor_name(row.decided_by))


def _dismissed_proposal_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    rows = RuleProposal.objects.filter(
        worker=worker, rule__project=project, state=ProposalState.DISMISSED, decided_at__isnull=False
    )
    for row in rows.select_related("rule", "decided_by"):
        title = f"Dismissed the proposal of the rule “{row.rule.name}”"
        assert row.decided_at is not None
        yield HistoryEvent(row.decided_at, title, row.reason, _actor_name(row.decided_by))


def _worker_decision_events(worker: Worker, project: Project) -> Iterator[HistoryEvent]:
    """Yield decisions about qualifications and blocks; the reason of a status change is not repeated."""
    status_reasons = set(
        StatusChange.objects.filter(worker=worker, project=project).values_list("reason", flat=True)
    )
    rows = WorkerDecision.objects.filter(worker=worker, project=project)
    for row in rows.select_related("qualification", "decided_by", "call"):
        qualification = f" “{row.qualification.slug}”" if row.qualification is not None else ""
        state = {CallState.DONE: "", CallState.REFUSED: "refused"}.get(
            CallState(row.call.state), "outstanding"
        )
        text = "" if row.reason in status_reasons else row.reason
        if row.call.error:
            text = f"{text} {row.call.error}".strip()
        yield HistoryEvent(
            row.decided_at,
            f"{_ACTION_TITLES[row.action]}{qualification}",
            text,
            _actor_name(row.decided_by),
            state=state,
        )


def _submissions(worker: Worker, project: Project) -> "QuerySet[Assignment]":
    return Assignment.objects.filter(
        worker=worker, hit__unit__batch__project=project, match=SubmissionMatch.MATCHED
    )


def _review_state_label(status: str) -> str:
    return {AssignmentStatus.SUBMITTED: "Waiting for an answer", AssignmentStatus.APPROVED: "Approved"}.get(
        AssignmentStatus(status), "Rejected"
    )
