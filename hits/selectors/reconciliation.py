"""What the two sides do not agree on, class by class, with what a person needs to decide. Only reads."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from hits import registry
from hits.domain.answers.evidence import Row
from hits.domain.mturk_formats.answer_xml import AnswerError, parse_answer
from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment, Attempt, Batch, Reconciliation, Resolution, Submission
from hits.selectors.eligibility.limits import lost_before

AT_MOST = 50  # rows of a class on one page; the others move up as these are decided


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs: what our page stored, and what the marketplace shows."""

    what: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Unmatched:
    """An assignment that the marketplace shows and our rows do not confirm.

    ``fields`` is its answer, decoded; ``trouble`` why it could not be. ``cents``: what approving pays.
    """

    assignment: Assignment
    fields: Sequence[tuple[str, str]]
    trouble: str
    differences: Sequence[Difference]
    cents: int


@dataclass(frozen=True, slots=True)
class Lost:
    """An answer of ours that the marketplace never showed, after its time and grace.

    ``again``: the worker handed the same unit in under another assignment. ``cents``: what it would have paid.
    """

    submission: Submission
    again: bool
    cents: int


@dataclass(frozen=True, slots=True)
class Totals:
    """How a batch's two sides compare now, in assignments and submissions; resolved ones are not among the open."""

    matched: int
    marketplace_only: int
    mismatch: int
    ours_only: int
    resolved: int

    @property
    def open(self) -> int:
        """What waits for a person."""
        return self.marketplace_only + self.mismatch + self.ours_only

    @property
    def bar(self) -> list[tuple[str, str]]:
        """Return the bar's parts as (class, width in percent)."""
        whole = self.matched + self.open + self.resolved
        parts = (("", self.matched), ("p2", self.resolved), ("p3", self.open))
        return [(name, f"{100 * count / whole:.2f}" if whole else "0") for name, count in parts]


def totals(batch: Batch) -> Totals:
    """Return a batch's totals; four queries."""
    shown = Assignment.objects.filter(hit__unit__batch=batch)
    waiting = open_assignments(batch)
    return Totals(
        matched=shown.filter(match=Match.MATCHED).count(),
        marketplace_only=waiting.filter(match=Match.MARKETPLACE_ONLY).count(),
        mismatch=waiting.filter(match=Match.MISMATCH).count(),
        ours_only=lost_submissions(batch).count(),
        resolved=history(batch).count(),
    )


def open_assignments(batch: Batch) -> "QuerySet[Assignment]":
    """Return what the marketplace shows, our rows do not confirm, and nobody has decided on; oldest first."""
    found = Assignment.objects.filter(hit__unit__batch=batch, decisions=None, resolution=None)
    return (
        found.exclude(match=Match.MATCHED)
        .exclude(status=AssignmentStatus.REJECTED)
        .order_by("submitted_at", "pk")
    )


def lost_submissions(batch: Batch) -> "QuerySet[Submission]":
    """Return the newest answer of every attempt that never got through and that nobody has decided on."""
    cut = lost_before(batch)
    if cut is None:
        return Submission.objects.none()
    return _lost(Attempt.objects.filter(hit__unit__batch=batch, opened_at__lte=cut))


def _lost(attempts: "QuerySet[Attempt]") -> "QuerySet[Submission]":
    shown = Assignment.objects.filter(
        hit=OuterRef("hit"), assignment_id=OuterRef("assignment_id"), worker=OuterRef("worker")
    )
    decided = Resolution.objects.filter(submission__attempt=OuterRef("pk"))
    newest = Submission.objects.filter(attempt=OuterRef("pk")).order_by("-received_at").values("pk")[:1]
    found = attempts.filter(~Exists(shown), ~Exists(decided), submissions__isnull=False)
    ids = found.annotate(newest=Subquery(newest)).values("newest")
    return Submission.objects.filter(pk__in=ids).order_by("received_at", "pk")


def is_lost(submission: Submission) -> bool:
    """Tell whether the submission is one that never got through, and undecided."""
    batch = submission.attempt.hit.unit.batch
    return lost_submissions(batch).filter(pk=submission.pk).exists()


def owed_cents(submission: Submission) -> int:
    """Return what the submission would have paid its worker: reward and bonuses, in cents."""
    batch = submission.attempt.hit.unit.batch
    return batch.reward_cents + registry.get(batch.kind).bonus_items(submission.answer) * batch.bonus_cents


def unmatched(batch: Batch, match: Match) -> list[Unmatched]:
    """Return one class of unconfirmed assignments with what differs; two queries."""
    rows = open_assignments(batch).filter(match=match)
    return described(rows.select_related("hit__unit__batch", "worker")[:AT_MOST])


def described(rows: "QuerySet[Assignment]") -> list[Unmatched]:
    """Return assignments with their answers decoded, and compared with the submission that they name."""
    read = [(row, *_fields(row.answer_xml)) for row in rows]
    named = {found for _, fields, _ in read if (found := _named(fields)) is not None}
    rows_named = Submission.objects.filter(pk__in=named)
    rows_named = rows_named.select_related("attempt__hit__unit", "attempt__worker")
    stored: dict[uuid.UUID | None, Submission] = {submission.pk: submission for submission in rows_named}
    return [
        Unmatched(
            assignment=row,
            fields=list(fields.items()),
            trouble=trouble,
            differences=_differences(row, fields, stored.get(_named(fields))),
            cents=row.hit.unit.batch.slot_cents(row.hit.max_assignments),
        )
        for row, fields, trouble in read
    ]


def lost(batch: Batch) -> list[Lost]:
    """Return the submissions that never got through; one query."""
    others = Assignment.objects.filter(
        worker=OuterRef("attempt__worker"), hit__unit=OuterRef("attempt__hit__unit"), match=Match.MATCHED
    )
    rows = lost_submissions(batch).annotate(again=Exists(others))
    rows = rows.select_related("attempt__hit__unit__batch", "attempt__worker")
    return [Lost(row, row.again, owed_cents(row)) for row in rows[:AT_MOST]]


def handed_in_again(submission: Submission) -> bool:
    """Tell whether the worker handed the same unit in under another assignment that matches."""
    same = Assignment.objects.filter(match=Match.MATCHED, hit__unit=submission.attempt.hit.unit_id)
    return same.filter(worker=submission.attempt.worker_id).exists()


def said_in(submission: Submission) -> list[Row]:
    """Return a stored answer line by line, as a person reads it."""
    unit = submission.attempt.hit.unit
    return registry.get(submission.kind).answer_lines(unit.payload, submission.answer)


def history(batch: Batch) -> "QuerySet[Resolution]":
    """Return what people decided about this batch's work that does not match, newest first."""
    here = Q(assignment__hit__unit__batch=batch) | Q(submission__attempt__hit__unit__batch=batch)
    rows = Resolution.objects.filter(here).order_by("-pk")
    return rows.select_related(
        "assignment__worker", "submission__attempt__worker", "decided_by", "compensation"
    )


def latest(batch: Batch) -> Reconciliation | None:
    """Return the newest comparison of the batch, or ``None``."""
    return Reconciliation.objects.filter(batch=batch).first()


def _fields(answer_xml: str) -> tuple[dict[str, str], str]:
    try:
        return parse_answer(answer_xml), ""
    except AnswerError as error:
        return {}, str(error)


def _named(fields: dict[str, str]) -> uuid.UUID | None:
    """Return the submission of ours that an answer names."""
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
