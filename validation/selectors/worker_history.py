"""One worker's history in a project: everything that was agreed, handed in, graded, said and decided, in order."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Count, Max, Min, Q, QuerySet

from hits import registry
from hits.domain.states import AssignmentStatus, CallState, Match, Purpose, TrainingOutcome, Verdict
from hits.domain.workers.countries import country_name
from hits.models import Assignment, Decision, Declaration, Participation, Project, Worker, WorkerDecision
from validation.domain.qualification.worker_status import ProposalState
from validation.models import GradingOutcome, StandingChange, StandingProposal
from validation.selectors.training import feedback_for

SUBMISSION = "assignment-detail"
NEWEST = 100  # decisions shown one by one
_DID = {"grant": "Granted", "revoke": "Took back", "block": "Blocked", "unblock": "Lifted the block"}
_SINGLE = (Purpose.QUALIFYING, Purpose.TRAINING)


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the history. ``route`` and ``key`` name the page that shows more, if there is one.

    ``state`` is a word where something is still to be carried out.
    """

    at: datetime
    title: str
    text: str = ""
    by: str = ""
    route: str = ""
    key: int = 0
    state: str = ""


def history(worker: Worker, project: Project) -> list[Event]:
    """Return the worker's history, newest first; a fixed number of queries."""
    parts = (
        _agreed,
        _declared,
        _one_by_one,
        _by_batch,
        _graded,
        _answered,
        _decided,
        _standing,
        _dismissed,
        _grants,
    )
    events = [event for part in parts for event in part(worker, project)]
    return sorted(events, key=lambda event: event.at, reverse=True)


def _who(user: AbstractBaseUser | None) -> str:
    return user.get_username() if user is not None else "a script"


def _agreed(worker: Worker, project: Project) -> Iterator[Event]:
    for row in Participation.objects.filter(worker=worker, project=project).select_related("consent"):
        yield Event(row.agreed_at, f"Agreed to consent text v{row.consent.version}")


def _declared(worker: Worker, project: Project) -> Iterator[Event]:
    for row in Declaration.objects.filter(worker=worker, project=project):
        yield Event(row.declared_at, f"Declared country: {country_name(row.country)}")


def _one_by_one(worker: Worker, project: Project) -> Iterator[Event]:
    """Qualification and training submissions stand for themselves."""
    rows = _work(worker, project).filter(hit__unit__batch__kind__in=registry.with_purpose(*_SINGLE))
    attempts = 0
    for row in rows.select_related("hit__unit__batch").order_by("submitted_at", "id"):
        batch = row.hit.unit.batch
        title = "Applied: handed in the qualification task"
        if registry.get(batch.kind).purpose is Purpose.TRAINING:
            attempts += 1
            title = f"Handed in training attempt {attempts}"
        yield Event(row.submitted_at, title, _pay_word(row.status), route=SUBMISSION, key=row.pk)


def _by_batch(worker: Worker, project: Project) -> Iterator[Event]:
    """All other work is summed up, a line a batch, at the time of its last submission."""
    rows = (
        _work(worker, project).exclude(hit__unit__batch__kind__in=registry.with_purpose(*_SINGLE)).order_by()
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
            text += f"; the first on {row['first']:%-d %b %Y}"
        title = f"{row['n']} submission{plural} in {row['hit__unit__batch__name']}"
        yield Event(row["last"], title, text, route="batch-detail", key=row["hit__unit__batch"])


def _graded(worker: Worker, project: Project) -> Iterator[Event]:
    rows = GradingOutcome.objects.filter(
        submission__attempt__worker=worker, submission__attempt__hit__unit__batch__project=project
    )
    for row in rows.select_related("decided_by"):
        exam = f", exam {row.exam_right} of {row.exam_asked}" if row.exam_asked else ""
        verdict = "passed" if row.passed else "not passed"
        title = f"Graded: {row.reasonable} of {row.graded} pairs reasonable{exam}; {verdict}"
        yield Event(row.decided_at, title, row.reason, _who(row.decided_by))


def _answered(worker: Worker, project: Project) -> Iterator[Event]:
    for row in feedback_for(worker, project):
        word = "ready" if row.outcome == TrainingOutcome.COMPLETE else "try once more"
        count = len(row.remarks)
        title = f"Trainer said: {word}" + (f", {count} remark{'s' if count > 1 else ''}" if count else "")
        key = row.submission.assignment.pk
        yield Event(row.written_at, title, row.summary, _who(row.written_by), SUBMISSION, key)


def _decided(worker: Worker, project: Project) -> Iterator[Event]:
    """Rejections, and approvals with words to the worker; plain approvals are in their batch's line."""
    rows = Decision.objects.filter(assignment__worker=worker, assignment__hit__unit__batch__project=project)
    single = registry.with_purpose(*_SINGLE)
    rows = rows.exclude(assignment__hit__unit__batch__kind__in=single, verdict=Verdict.APPROVE)
    rows = rows.exclude(verdict=Verdict.APPROVE, feedback="").select_related("decided_by").order_by("-pk")
    for row in rows[:NEWEST]:
        word = "Approved" if row.verdict == Verdict.APPROVE else "Rejected"
        key = row.assignment_id
        yield Event(
            row.decided_at,
            f"{word} submission {key}",
            row.feedback,
            _who(row.decided_by),
            SUBMISSION,
            key,
        )


def _standing(worker: Worker, project: Project) -> Iterator[Event]:
    rows = StandingChange.objects.filter(worker=worker, project=project)
    for row in rows.select_related("decided_by", "proposal__rule"):
        title = f"Standing: {row.standing}"
        if row.proposal is not None:
            title += f", as the rule “{row.proposal.rule.name}” proposed"
        yield Event(row.decided_at, title, row.reason, _who(row.decided_by))


def _dismissed(worker: Worker, project: Project) -> Iterator[Event]:
    rows = StandingProposal.objects.filter(
        worker=worker, rule__project=project, state=ProposalState.DISMISSED, decided_at__isnull=False
    )
    for row in rows.select_related("rule", "decided_by"):
        title = f"Dismissed what the rule “{row.rule.name}” proposed"
        assert row.decided_at is not None
        yield Event(row.decided_at, title, row.reason, _who(row.decided_by))


def _grants(worker: Worker, project: Project) -> Iterator[Event]:
    """What was decided about qualifications and blocks; a reason that a change of standing gives is not repeated."""
    said = set(StandingChange.objects.filter(worker=worker, project=project).values_list("reason", flat=True))
    rows = WorkerDecision.objects.filter(worker=worker, project=project)
    for row in rows.select_related("qualification", "decided_by", "call"):
        what = f" “{row.qualification.slug}”" if row.qualification is not None else ""
        state = {CallState.DONE: "", CallState.REFUSED: "refused"}.get(
            CallState(row.call.state), "outstanding"
        )
        text = "" if row.reason in said else row.reason
        if row.call.error:
            text = f"{text} {row.call.error}".strip()
        yield Event(row.decided_at, f"{_DID[row.action]}{what}", text, _who(row.decided_by), state=state)


def _work(worker: Worker, project: Project) -> "QuerySet[Assignment]":
    return Assignment.objects.filter(worker=worker, hit__unit__batch__project=project, match=Match.MATCHED)


def _pay_word(status: str) -> str:
    return {AssignmentStatus.SUBMITTED: "Waits for an answer", AssignmentStatus.APPROVED: "Approved"}.get(
        AssignmentStatus(status), "Rejected"
    )
