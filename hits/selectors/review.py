"""Submissions for review: the unit, the answer and the checks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, QuerySet

from hits import registry
from hits.domain.answers.evidence import EvidenceRow, answer_rows
from hits.domain.answers.records import Record, RecordError
from hits.domain.answers.review_flags import ReviewCheck
from hits.domain.images.image_facts import ImageFacts
from hits.domain.money.pay import cents_per_hour
from hits.domain.states import AssignmentStatus, CallState, SubmissionMatch
from hits.kind import HitKind
from hits.models import Assignment, Batch, Decision, Project
from hits.selectors.console import waiting_assignments
from hits.selectors.hints import HintCount, count_hints
from hits.selectors.images.images import image_facts
from hits.selectors.listing import batch_listing
from hits.selectors.money.bonus_items import bonus_items_by_assignment
from hits.selectors.money.pay import paid_top_up_cents_by_assignment

_ARM = "arm"  # key of the order or variant in a submission's ``shown``
_SELECT_RELATED = ("hit__unit__batch__project", "worker", "submission__instructions")
_PREFETCH_RELATED = ("hit__unit__images", "decisions__calls")


@dataclass(frozen=True, slots=True)
class AssignmentReview:
    """One assignment with all that its row and page show. Money in cents, times in seconds."""

    assignment: Assignment
    images: Sequence[ImageFacts]
    records: Sequence[Record]
    bonus_items: int
    rate_cents: int | None
    checks: Sequence[ReviewCheck]
    state: str

    @property
    def batch(self) -> Batch:
        """The assignment's batch."""
        return self.assignment.hit.unit.batch

    @property
    def flags(self) -> list[str]:
        """Short labels of the failed checks."""
        return [check.short for check in self.checks if not check.ok]

    @property
    def kind(self) -> HitKind:
        """The kind of the task."""
        return registry.get_kind(self.batch.kind)

    @property
    def unit(self) -> dict[str, Any]:
        """The unit's payload."""
        return self.assignment.hit.unit.payload

    @property
    def answer(self) -> dict[str, Any] | None:
        """The stored answer; ``None`` if the marketplace's submission does not match one of ours."""
        submission = self.assignment.submission
        return None if submission is None else submission.answer

    @property
    def image(self) -> ImageFacts | None:
        """The unit's first image, if any."""
        return next(iter(self.images), None)

    @property
    def title(self) -> str:
        """A short title of the unit: its image names, else its first value, else its key."""
        if self.images:
            return ", ".join(image.name for image in self.images)
        key: str = self.assignment.hit.unit.key
        return next((row.value for row in self.unit_rows if row.value), key)

    @property
    def marks(self) -> list[dict[str, Any]]:
        """Boxes for the template tag ``photo``."""
        return self.kind.marks(self.unit, self.answer)

    @property
    def answer_rows(self) -> list[EvidenceRow]:
        """The answer as readable rows."""
        return [] if self.answer is None else self.kind.answer_rows(self.unit, self.answer)

    @property
    def evidence(self) -> dict[str, Any]:
        """The context of the kind's evidence template."""
        return {} if self.answer is None else self.kind.evidence(self.unit, self.answer)

    @property
    def unit_rows(self) -> list[EvidenceRow]:
        """The unit's values besides its images, as rows."""
        return self.kind.unit_rows(self.unit)

    @property
    def shown_rows(self) -> list[EvidenceRow]:
        """What the page showed to this worker only, such as the order, as rows."""
        submission = self.assignment.submission
        shown = dict((submission.shown if submission else None) or {})
        arm = shown.pop(_ARM, None)
        # Reports count orders from 1.
        number = [] if arm is None else [EvidenceRow("Display order", str(arm + 1))]
        return number + [EvidenceRow(f"{row.label} on the page", row.value) for row in answer_rows(shown)]

    @property
    def current_decision(self) -> Decision | None:
        """The latest decision, if any."""
        return self.assignment.latest_decision

    @property
    def overridden_rejection(self) -> Decision | None:
        """The rejection that the latest decision overrides, if it does."""
        latest = self.current_decision
        if latest is None or latest.overrides_id is None:
            return None
        return next(row for row in self.assignment.decisions.all() if row.pk == latest.overrides_id)

    @property
    def hints(self) -> HintCount:
        """How many live hints the worker saw and dismissed."""
        return count_hints(self.assignment.submission)

    @property
    def payment_error(self) -> str:
        """The marketplace's error for a refused payment, or an empty string."""
        decision = self.current_decision
        calls = decision.calls.all() if decision else ()
        return next((call.error for call in calls if call.state == CallState.REFUSED), "")


def review_queue(scope: Project | Batch) -> "QuerySet[Assignment]":
    """Return the assignments of a project or batch that await a decision, oldest first."""
    field = "hit__unit__batch" if isinstance(scope, Batch) else "hit__unit__batch__project"
    return waiting_assignments().filter(**{field: scope}).order_by("submitted_at", "id")


def assignment_by_id(pk: int) -> Assignment | None:
    """Return an assignment with its batch and project, or ``None``."""
    return Assignment.objects.select_related(*_SELECT_RELATED).filter(pk=pk).first()


def load_reviews(assignments: "QuerySet[Assignment]") -> list[AssignmentReview]:
    """Return assignments with their evidence; always six queries."""
    rows = list(assignments.select_related(*_SELECT_RELATED).prefetch_related(*_PREFETCH_RELATED))
    top_ups = paid_top_up_cents_by_assignment([row.pk for row in rows])
    return [_build_review(row, top_ups[row.pk]) for row in rows]


def load_review(pk: int) -> AssignmentReview | None:
    """Return one assignment with its evidence, or ``None``."""
    return next(iter(load_reviews(Assignment.objects.filter(pk=pk))), None)


def load_newest_assignments(batch: Batch, number: int = 8) -> list[AssignmentReview]:
    """Return the newest confirmed assignments of a batch."""
    found = Assignment.objects.filter(hit__unit__batch=batch, match=SubmissionMatch.MATCHED)
    # Keys first: otherwise the database sorts whole rows to find eight of them.
    keys = list(found.order_by("-submitted_at", "-id").values_list("pk", flat=True)[:number])
    return load_reviews(Assignment.objects.filter(pk__in=keys).order_by("-submitted_at", "-id"))


def refused_payments(batch: Batch) -> list[AssignmentReview]:
    """Return assignments whose decision the marketplace refused to carry out."""
    found = Assignment.objects.filter(
        hit__unit__batch=batch, decisions__calls__state=CallState.REFUSED
    ).distinct()
    # A rejection that came after an automatic approval needs no action.
    return [row for row in load_reviews(found) if row.state == "refused"]


def _build_review(row: Assignment, top_up_cents: int) -> AssignmentReview:
    unit, submission = row.hit.unit, row.submission
    kind = registry.get_kind(unit.batch.kind)
    facts_by_id = {image.pk: image_facts(image) for image in unit.images.all()}
    images = [facts_by_id[pk] for pk in kind.image_ids(unit.payload) if pk in facts_by_id]
    if submission is None:
        return AssignmentReview(row, images, (), 0, None, (), review_state(row))
    items = kind.bonus_items(submission.answer)
    cents = unit.batch.reward_cents + items * unit.batch.bonus_cents + top_up_cents
    checks = kind.checks(
        unit.payload,
        facts_by_id,
        submission.answer,
        active_seconds=submission.active_seconds,
        expected_seconds=batch_listing(unit.batch).expected_seconds,
    )
    rate = cents_per_hour(cents, submission.active_seconds)
    return AssignmentReview(row, images, _counted_records(kind, row), items, rate, checks, review_state(row))


def _counted_records(kind: HitKind, row: Assignment) -> list[Record]:
    """Return the records of an answer that ``record_word`` counts.

    The list is empty if they cannot be read, which the batch's page reports.
    """
    assert row.submission is not None
    try:
        records = kind.read_records(row.hit.unit.payload, row.submission.answer)
    except RecordError:
        return []
    return [record for record in records if not kind.counted_types or record.type in kind.counted_types]


def review_state(row: Assignment) -> str:
    """Return an assignment's review state; its decisions and calls must be prefetched."""
    if row.is_rejection_superseded:
        return "paid"
    decision = row.latest_decision
    calls = list(decision.calls.all()) if decision else []
    if any(call.state == CallState.REFUSED for call in calls):
        return "refused"
    if any(call.state != CallState.DONE for call in calls):
        return "outstanding"
    if row.status == AssignmentStatus.APPROVED:
        return "paid"
    if row.status == AssignmentStatus.REJECTED:
        return "rejected"
    return "waiting" if row.match == SubmissionMatch.MATCHED else "unmatched"


@dataclass(frozen=True, slots=True)
class QueueWindow:
    """The reviews around one assignment of a queue. ``position`` counts from 1."""

    reviews: Sequence[AssignmentReview]
    position: int
    total: int
    earlier_count: int
    later_count: int
    previous_id: int | None
    next_id: int | None
    current_id: int | None


def queue_window(scope: Project | Batch, assignment_id: int | None, window: int = 7) -> QueueWindow:
    """Return the queue around an assignment, or its start if the assignment is not in it."""
    return build_queue_window(review_queue(scope), assignment_id, window)


def build_queue_window(
    waiting: "QuerySet[Assignment]", assignment_id: int | None, window: int = 7
) -> QueueWindow:
    """Return a window of any ordered assignments; for queues other than the review queue."""
    ids = list(waiting.values_list("pk", flat=True))
    index = ids.index(assignment_id) if assignment_id in ids else 0
    start = max(0, min(index - 2, len(ids) - window))
    shown_ids = ids[start : start + window]
    rows = {row.assignment.pk: row for row in load_reviews(Assignment.objects.filter(pk__in=shown_ids))}
    return QueueWindow(
        reviews=[rows[pk] for pk in shown_ids if pk in rows],
        position=index + 1,
        total=len(ids),
        earlier_count=start,
        later_count=max(0, len(ids) - start - window),
        previous_id=ids[index - 1] if index > 0 else None,
        next_id=ids[index + 1] if index + 1 < len(ids) else None,
        current_id=ids[index] if ids else None,
    )


def waiting_counts_by_pay_and_last_pk(batch: Batch) -> tuple[Counter[tuple[int, int]], int]:
    """Count waiting assignments by (max_assignments, bonus items), and return the highest primary key.

    The two numbers determine a submission's payout. No answer is read.
    """
    rows = review_queue(batch).order_by()
    last = rows.aggregate(last=Max("pk"))["last"] or 0
    kind = registry.get_kind(batch.kind) if batch.bonus_cents else None
    if kind is None or not kind.max_bonus_items:
        counts = rows.values_list("hit__max_assignments").annotate(Count("pk"))
        return Counter({(max_assignments, 0): count for max_assignments, count in counts}), last
    rows = rows.filter(pk__lte=last)
    items = bonus_items_by_assignment(rows)
    values = rows.values_list("pk", "hit__max_assignments").iterator(chunk_size=5_000)
    return Counter((max_assignments, items[pk]) for pk, max_assignments in values), last
