"""Differences between our rows and the marketplace, by class, with what a decision needs. Read-only."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from hits import registry
from hits.domain.answers.evidence import EvidenceRow
from hits.domain.mturk_formats.answer_xml import AnswerError, parse_answer
from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.models import Assignment, Attempt, Batch, Reconciliation, Resolution, Submission
from hits.selectors.eligibility.limits import lost_submission_cutoff

MAX_ROWS = 50  # rows per class on a page; decided rows make room for others


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs between our stored submission and the marketplace's."""

    field: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class UnmatchedAssignment:
    """An assignment that the marketplace shows and our rows do not confirm.

    ``fields``: its decoded answer; ``error``: why it could not be decoded. ``cents``: the cost of an approval.
    """

    assignment: Assignment
    fields: Sequence[tuple[str, str]]
    error: str
    differences: Sequence[Difference]
    cents: int


@dataclass(frozen=True, slots=True)
class LostSubmission:
    """A stored answer that the marketplace does not show after its allowed time and the grace period.

    ``resubmitted``: the worker submitted the same unit in another assignment. ``cents``: what it would have paid.
    """

    submission: Submission
    resubmitted: bool
    cents: int


@dataclass(frozen=True, slots=True)
class ReconciliationTotals:
    """Counts of a batch's matched, differing and resolved assignments and submissions."""

    matched: int
    marketplace_only: int
    mismatch: int
    ours_only: int
    resolved: int

    @property
    def open(self) -> int:
        """How many await a person's decision."""
        return self.marketplace_only + self.mismatch + self.ours_only

    @property
    def bar_segments(self) -> list[tuple[str, str]]:
        """Return the segments as (CSS class, width in percent)."""
        whole = self.matched + self.open + self.resolved
        parts = (("", self.matched), ("p2", self.resolved), ("p3", self.open))
        return [(name, f"{100 * count / whole:.2f}" if whole else "0") for name, count in parts]


def reconciliation_totals(batch: Batch) -> ReconciliationTotals:
    """Return a batch's counts; four queries."""
    shown = Assignment.objects.filter(hit__unit__batch=batch)
    undecided = undecided_unmatched_assignments(batch)
    return ReconciliationTotals(
        matched=shown.filter(match=SubmissionMatch.MATCHED).count(),
        marketplace_only=undecided.filter(match=SubmissionMatch.MARKETPLACE_ONLY).count(),
        mismatch=undecided.filter(match=SubmissionMatch.MISMATCH).count(),
        ours_only=lost_submissions(batch).count(),
        resolved=batch_resolutions(batch).count(),
    )


def undecided_unmatched_assignments(batch: Batch) -> "QuerySet[Assignment]":
    """Return the marketplace's undecided assignments that our rows do not confirm, oldest first."""
    found = Assignment.objects.filter(hit__unit__batch=batch, decisions=None, resolution=None)
    return (
        found.exclude(match=SubmissionMatch.MATCHED)
        .exclude(status=AssignmentStatus.REJECTED)
        .order_by("submitted_at", "pk")
    )


def lost_submissions(batch: Batch) -> "QuerySet[Submission]":
    """Return the newest answer of each lost and undecided attempt."""
    cutoff = lost_submission_cutoff(batch)
    if cutoff is None:
        return Submission.objects.none()
    return _filter_lost_submissions(Attempt.objects.filter(hit__unit__batch=batch, opened_at__lte=cutoff))


def _filter_lost_submissions(attempts: "QuerySet[Attempt]") -> "QuerySet[Submission]":
    shown = Assignment.objects.filter(
        hit=OuterRef("hit"), assignment_id=OuterRef("assignment_id"), worker=OuterRef("worker")
    )
    decided = Resolution.objects.filter(submission__attempt=OuterRef("pk"))
    newest = Submission.objects.filter(attempt=OuterRef("pk")).order_by("-received_at").values("pk")[:1]
    found = attempts.filter(~Exists(shown), ~Exists(decided), submissions__isnull=False)
    ids = found.annotate(newest=Subquery(newest)).values("newest")
    return Submission.objects.filter(pk__in=ids).order_by("received_at", "pk")


def is_lost_and_undecided(submission: Submission) -> bool:
    """Return whether the submission is lost and undecided."""
    batch = submission.attempt.hit.unit.batch
    return lost_submissions(batch).filter(pk=submission.pk).exists()


def owed_cents(submission: Submission) -> int:
    """Return what the submission would have paid its worker: reward and bonuses, in cents."""
    batch = submission.attempt.hit.unit.batch
    return (
        batch.reward_cents + registry.get_kind(batch.kind).bonus_items(submission.answer) * batch.bonus_cents
    )


def unmatched_rows(batch: Batch, match: SubmissionMatch) -> list[UnmatchedAssignment]:
    """Return one class of unconfirmed assignments with their differences; two queries."""
    rows = undecided_unmatched_assignments(batch).filter(match=match)
    return compare_assignments(rows.select_related("hit__unit__batch", "worker")[:MAX_ROWS])


def compare_assignments(rows: "QuerySet[Assignment]") -> list[UnmatchedAssignment]:
    """Return assignments with decoded answers, compared with the submissions that they reference."""
    decoded = [(row, *_decode_fields(row.answer_xml)) for row in rows]
    submission_ids = {
        found for _, fields, _ in decoded if (found := _referenced_submission_id(fields)) is not None
    }
    referenced = Submission.objects.filter(pk__in=submission_ids)
    referenced = referenced.select_related("attempt__hit__unit", "attempt__worker")
    stored: dict[uuid.UUID | None, Submission] = {submission.pk: submission for submission in referenced}
    return [
        UnmatchedAssignment(
            assignment=row,
            fields=list(fields.items()),
            error=error,
            differences=_differences(row, fields, stored.get(_referenced_submission_id(fields))),
            cents=row.hit.unit.batch.slot_cents(row.hit.max_assignments),
        )
        for row, fields, error in decoded
    ]


def lost_rows(batch: Batch) -> list[LostSubmission]:
    """Return the lost submissions; one query."""
    others = Assignment.objects.filter(
        worker=OuterRef("attempt__worker"),
        hit__unit=OuterRef("attempt__hit__unit"),
        match=SubmissionMatch.MATCHED,
    )
    rows = lost_submissions(batch).annotate(resubmitted=Exists(others))
    rows = rows.select_related("attempt__hit__unit__batch", "attempt__worker")
    return [LostSubmission(row, row.resubmitted, owed_cents(row)) for row in rows[:MAX_ROWS]]


def was_resubmitted(submission: Submission) -> bool:
    """Return whether the worker submitted the same unit in another assignment that matches."""
    same_unit = Assignment.objects.filter(
        match=SubmissionMatch.MATCHED, hit__unit=submission.attempt.hit.unit_id
    )
    return same_unit.filter(worker=submission.attempt.worker_id).exists()


def submission_answer_rows(submission: Submission) -> list[EvidenceRow]:
    """Return a stored answer as readable rows."""
    unit = submission.attempt.hit.unit
    return registry.get_kind(submission.kind).answer_rows(unit.payload, submission.answer)


def batch_resolutions(batch: Batch) -> "QuerySet[Resolution]":
    """Return people's decisions on this batch's differences, newest first."""
    is_in_batch = Q(assignment__hit__unit__batch=batch) | Q(submission__attempt__hit__unit__batch=batch)
    rows = Resolution.objects.filter(is_in_batch).order_by("-pk")
    return rows.select_related(
        "assignment__worker", "submission__attempt__worker", "decided_by", "compensation"
    )


def latest_reconciliation(batch: Batch) -> Reconciliation | None:
    """Return the newest comparison of the batch, or ``None``."""
    return Reconciliation.objects.filter(batch=batch).first()


def _decode_fields(answer_xml: str) -> tuple[dict[str, str], str]:
    try:
        return parse_answer(answer_xml), ""
    except AnswerError as error:
        return {}, str(error)


def _referenced_submission_id(fields: dict[str, str]) -> uuid.UUID | None:
    """Return the id of our submission that an answer references."""
    try:
        return uuid.UUID(fields.get("submission_id", ""))
    except ValueError:
        return None


def _differences(row: Assignment, fields: dict[str, str], stored: Submission | None) -> list[Difference]:
    if stored is None:
        return []
    attempt = stored.attempt
    pairs = [
        Difference("Worker", str(attempt.worker), str(row.worker)),
        Difference("Task", attempt.hit.unit.key, row.hit.unit.key),
        Difference("HIT", attempt.hit.hit_id or "none", row.hit.hit_id or "none"),
        Difference("Assignment", attempt.assignment_id, row.assignment_id),
        Difference("SHA-256 of the answer", stored.sha256, fields.get("sha256", "") or "none"),
    ]
    return [pair for pair in pairs if pair.ours != pair.theirs]
