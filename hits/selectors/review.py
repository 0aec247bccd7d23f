"""Submissions as a reviewer sees them: what was shown, what was answered, what to look at."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, QuerySet

from hits import registry
from hits.domain.answers.evidence import Row, answer_rows
from hits.domain.answers.records import Record, RecordError
from hits.domain.answers.review_flags import Check
from hits.domain.images.image_facts import ImageFacts
from hits.domain.money.pay import cents_per_hour
from hits.domain.states import AssignmentStatus, CallState, Match
from hits.kind import HitKind
from hits.models import Assignment, Batch, Decision, Project
from hits.selectors.console import waiting_assignments
from hits.selectors.hints import HintCount, count_of
from hits.selectors.images.images import facts
from hits.selectors.listing import listing_of
from hits.selectors.money.bonus_items import bonus_items
from hits.selectors.money.pay import paid_top_ups

_ARM = "arm"  # what a submission calls the order or variant among what its page showed
_ROWS = ("hit__unit__batch__project", "worker", "submission__instructions")
_MORE = ("hit__unit__images", "decisions__calls")


@dataclass(frozen=True, slots=True)
class Looked:
    """One assignment with everything that its row or page shows. Money in cents, times in seconds."""

    assignment: Assignment
    images: Sequence[ImageFacts]
    records: Sequence[Record]
    bonus_items: int
    rate_cents: int | None
    checks: Sequence[Check]
    state: str

    @property
    def batch(self) -> Batch:
        """The batch that it belongs to."""
        batch: Batch = self.assignment.hit.unit.batch
        return batch

    @property
    def flags(self) -> list[str]:
        """Short words for what a reviewer should look at."""
        return [check.short for check in self.checks if not check.ok]

    @property
    def kind(self) -> HitKind:
        """The kind whose answer it is."""
        return registry.get(self.batch.kind)

    @property
    def unit(self) -> dict[str, Any]:
        """The unit as it was launched."""
        payload: dict[str, Any] = self.assignment.hit.unit.payload
        return payload

    @property
    def answer(self) -> dict[str, Any] | None:
        """The stored answer; none where the marketplace's submission is not ours."""
        submission = self.assignment.submission
        return None if submission is None else submission.answer

    @property
    def image(self) -> ImageFacts | None:
        """The first image that the unit shows, if there is one."""
        return next(iter(self.images), None)

    @property
    def called(self) -> str:
        """The unit in a few words: its images' names, else the first thing that it says, else its key."""
        if self.images:
            return ", ".join(image.name for image in self.images)
        key: str = self.assignment.hit.unit.key
        return next((row.said for row in self.unit_lines if row.said), key)

    @property
    def marks(self) -> list[dict[str, Any]]:
        """Boxes for the photo tag."""
        return self.kind.marks(self.unit, self.answer)

    @property
    def lines(self) -> list[Row]:
        """The answer line by line."""
        return [] if self.answer is None else self.kind.answer_lines(self.unit, self.answer)

    @property
    def evidence(self) -> dict[str, Any]:
        """What the kind's own evidence template needs."""
        return {} if self.answer is None else self.kind.evidence(self.unit, self.answer)

    @property
    def unit_lines(self) -> list[Row]:
        """What the unit says besides its images, line by line."""
        return self.kind.unit_lines(self.unit)

    @property
    def shown_lines(self) -> list[Row]:
        """What the page showed to this worker differently from others, such as an order, line by line."""
        submission = self.assignment.submission
        shown = dict((submission.shown if submission else None) or {})
        arm = shown.pop(_ARM, None)
        # Reports count orders from 1.
        number = [] if arm is None else [Row("Number of the order", str(arm + 1))]
        return number + [Row(f"{row.about} on the page", row.said) for row in answer_rows(shown)]

    @property
    def taken_up(self) -> Decision | None:
        """The decision that stands, when there is one."""
        return self.assignment.latest_decision

    @property
    def overridden(self) -> Decision | None:
        """The rejection that the latest decision overrides, when it does."""
        latest = self.taken_up
        if latest is None or latest.overrides_id is None:
            return None
        return next(row for row in self.assignment.decisions.all() if row.pk == latest.overrides_id)

    @property
    def overtaken(self) -> bool:
        """Whether the marketplace approved it, by its clock or a script, before our rejection got there."""
        return self.assignment.was_overtaken

    @property
    def hints(self) -> HintCount:
        """How many live hints the worker saw and waved away."""
        return count_of(self.assignment.submission)

    @property
    def trouble(self) -> str:
        """What the marketplace said when it refused a payment, or nothing."""
        decision = self.taken_up
        calls = decision.calls.all() if decision else ()
        return next((call.error for call in calls if call.state == CallState.REFUSED), "")


def queue(scope: Project | Batch) -> "QuerySet[Assignment]":
    """Return what waits for a decision in a project or a batch, oldest first."""
    field = "hit__unit__batch" if isinstance(scope, Batch) else "hit__unit__batch__project"
    return waiting_assignments().filter(**{field: scope}).order_by("submitted_at", "id")


def assignment_by_id(pk: int) -> Assignment | None:
    """Return an assignment with its batch and project, or ``None``."""
    return Assignment.objects.select_related(*_ROWS).filter(pk=pk).first()


def looked_at(assignments: "QuerySet[Assignment]") -> list[Looked]:
    """Return assignments with their evidence; six queries however many."""
    rows = list(assignments.select_related(*_ROWS).prefetch_related(*_MORE))
    top_ups = paid_top_ups([row.pk for row in rows])
    return [_look(row, top_ups[row.pk]) for row in rows]


def look(pk: int) -> Looked | None:
    """Return one assignment with its evidence, or ``None``."""
    return next(iter(looked_at(Assignment.objects.filter(pk=pk))), None)


def latest(batch: Batch, number: int = 8) -> list[Looked]:
    """Return the newest confirmed assignments of a batch."""
    found = Assignment.objects.filter(hit__unit__batch=batch, match=Match.MATCHED)
    # Their keys first: a database that sorts whole rows to find eight carries every column of all of them.
    keys = list(found.order_by("-submitted_at", "-id").values_list("pk", flat=True)[:number])
    return looked_at(Assignment.objects.filter(pk__in=keys).order_by("-submitted_at", "-id"))


def refused_payments(batch: Batch) -> list[Looked]:
    """Return assignments whose decision the marketplace refused to carry out."""
    found = Assignment.objects.filter(
        hit__unit__batch=batch, decisions__calls__state=CallState.REFUSED
    ).distinct()
    # Nothing is to be mended where the marketplace's clock was faster than a rejection.
    return [row for row in looked_at(found) if row.state == "refused"]


def _look(row: Assignment, top_up_cents: int) -> Looked:
    unit, submission = row.hit.unit, row.submission
    kind = registry.get(unit.batch.kind)
    known = {image.pk: facts(image) for image in unit.images.all()}
    images = [known[pk] for pk in kind.image_ids(unit.payload) if pk in known]
    if submission is None:
        return Looked(row, images, (), 0, None, (), state_of(row))
    items = kind.bonus_items(submission.answer)
    cents = unit.batch.reward_cents + items * unit.batch.bonus_cents + top_up_cents
    checks = kind.checks(
        unit.payload,
        known,
        submission.answer,
        active_seconds=submission.active_seconds,
        usual_seconds=listing_of(unit.batch).usual_seconds,
    )
    rate = cents_per_hour(cents, submission.active_seconds)
    return Looked(row, images, _records_in(kind, row), items, rate, checks, state_of(row))


def _records_in(kind: HitKind, row: Assignment) -> list[Record]:
    """Return the records of an answer; none where they cannot be read, which the batch page says."""
    assert row.submission is not None
    try:
        return kind.read_records(row.hit.unit.payload, row.submission.answer)
    except RecordError:
        return []


def state_of(row: Assignment) -> str:
    """Return the word for where an assignment stands; its decisions and calls have to be at hand."""
    if row.was_overtaken:
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
    return "waiting" if row.match == Match.MATCHED else "unmatched"


@dataclass(frozen=True, slots=True)
class Queue:
    """A window on the queue around one place. Numbers count from 1."""

    shown: Sequence[Looked]
    place: int
    total: int
    earlier: int
    later: int
    previous_id: int | None
    next_id: int | None
    current_id: int | None


def queue_at(scope: Project | Batch, wanted: int | None, window: int = 7) -> Queue:
    """Return the queue around ``wanted``, or around its first entry when that is not waiting."""
    return queue_of(queue(scope), wanted, window)


def queue_of(waiting: "QuerySet[Assignment]", wanted: int | None, window: int = 7) -> Queue:
    """Return a window on assignments in their order; for a desk that queues others than the review desk."""
    ids = list(waiting.values_list("pk", flat=True))
    place = ids.index(wanted) if wanted in ids else 0
    start = max(0, min(place - 2, len(ids) - window))
    shown = ids[start : start + window]
    rows = {look.assignment.pk: look for look in looked_at(Assignment.objects.filter(pk__in=shown))}
    return Queue(
        shown=[rows[pk] for pk in shown if pk in rows],
        place=place + 1,
        total=len(ids),
        earlier=start,
        later=max(0, len(ids) - start - window),
        previous_id=ids[place - 1] if place > 0 else None,
        next_id=ids[place + 1] if place + 1 < len(ids) else None,
        current_id=ids[place] if ids else None,
    )


def waiting_alike(batch: Batch) -> tuple[Counter[tuple[int, int]], int]:
    """Return how many waiting assignments there are by (max_assignments, bonus items), and the last row's key.

    What they are paid depends on no more. No answer is read for it.
    """
    rows = queue(batch).order_by()
    last = rows.aggregate(last=Max("pk"))["last"] or 0
    kind = registry.get(batch.kind) if batch.bonus_cents else None
    if kind is None or not kind.max_bonus_items:
        counted = rows.values_list("hit__max_assignments").annotate(Count("pk"))
        return Counter({(most, 0): count for most, count in counted}), last
    rows = rows.filter(pk__lte=last)
    items = bonus_items(rows)
    values = rows.values_list("pk", "hit__max_assignments").iterator(chunk_size=5_000)
    return Counter((most, items[pk]) for pk, most in values), last
