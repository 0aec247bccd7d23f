"""Changes that are due by the clock: expired slots are offered again, old submissions are approved."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from hits.domain.jobs import turns
from hits.marketplace.models import Assignment, Attempt, Outcome, SlotState

from . import events, ledger
from .events import EventType

BATCH_SIZE = 200
_END_EVENTS = {
    Outcome.RETURNED: EventType.ASSIGNMENT_RETURNED,
    Outcome.ABANDONED: EventType.ASSIGNMENT_ABANDONED,
}


def apply_all_due_changes(*, now: datetime, limit: int = 10_000) -> int:
    """Apply all due changes, in transactions of 200 slots; return how many slots changed."""
    changed_count = 0
    while changed_count < limit and (changed := _apply_due_changes(Q(), now=now, limit=1)):
        changed_count += changed
        turns.end_turn_if_over()
    return changed_count


def apply_due_changes_of_hits(*, hit_pks: list[int], now: datetime) -> int:
    """Apply the due changes of these HITs."""
    return _apply_due_changes(Q(hit__in=hit_pks), now=now)


def apply_due_changes_of_hit_type(*, hit_type_pk: int, now: datetime) -> int:
    """Apply the due changes of one group."""
    return _apply_due_changes(Q(hit__hit_type=hit_type_pk), now=now)


def apply_due_changes_of_worker(*, worker_pk: int, now: datetime) -> int:
    """Apply the due changes of one worker's slots."""
    return _apply_due_changes(Q(worker=worker_pk), now=now)


def _apply_due_changes(where: Q, *, now: datetime, limit: int = 10_000) -> int:
    """Check first and write only if something is due, so that reading idle HITs stays a read."""
    changed_count = 0
    while changed_count < limit and _has_due_slots(now):
        changed = _abandon_overdue_slots(where, now) + _approve_due_slots(where, now)
        if not changed:
            break
        changed_count += changed
    return changed_count


def _has_due_slots(now: datetime) -> bool:
    """Query the two small partial indexes; a group may have a hundred thousand slots."""
    return (
        Assignment.objects.filter(state=SlotState.PENDING, deadline__lte=now).exists()
        or Assignment.objects.filter(state=SlotState.SUBMITTED, auto_approval_at__lte=now).exists()
    )


def _abandon_overdue_slots(where: Q, now: datetime) -> int:
    due = list(
        Assignment.objects.filter(where, state=SlotState.PENDING, deadline__lte=now)
        .order_by("deadline", "pk")  # a fixed order, so that concurrent sweeps do not deadlock
        .values_list("pk", "deadline")[:BATCH_SIZE]
    )
    if not due:
        return 0
    with transaction.atomic():
        return sum(
            end_attempt_if_open(slot_pk=pk, outcome=Outcome.ABANDONED, at=deadline, deadline=deadline)
            for pk, deadline in due
            if deadline is not None
        )


def _approve_due_slots(where: Q, now: datetime) -> int:
    due = list(
        Assignment.objects.filter(where, state=SlotState.SUBMITTED, auto_approval_at__lte=now)
        .order_by("auto_approval_at", "pk")
        .select_related("hit__requester", "worker")[:BATCH_SIZE]
    )
    if not due:
        return 0
    with transaction.atomic():
        return sum(approve_slot_if_submitted(slot=slot, at=slot.auto_approval_at or now) for slot in due)


def end_attempt_if_open(*, slot_pk: int, outcome: Outcome, at: datetime, deadline: datetime) -> int:
    """Offer a pending slot again and close its current attempt; return 0 if another call was faster.

    ``deadline`` identifies the attempt: a slot taken again has another one. The caller holds a transaction.
    """
    claimed = Assignment.objects.filter(pk=slot_pk, state=SlotState.PENDING, deadline=deadline).update(
        state=SlotState.OPEN, worker=None, accepted_at=None, deadline=None
    )
    if claimed:
        Attempt.objects.filter(assignment=slot_pk, outcome=Outcome.WORKING).update(
            outcome=outcome, ended_at=at
        )
        slot = Assignment.objects.select_related("hit__hit_type", "hit__requester").get(pk=slot_pk)
        events.queue_event_if_subscribed(_END_EVENTS[outcome], hit=slot.hit, at=at, assignment=slot)
    return claimed


def approve_slot_if_submitted(*, slot: Assignment, at: datetime, feedback: str | None = None) -> int:
    """Approve and pay a submitted slot; return 0 if it was decided meanwhile. Needs a transaction."""
    changes = {"state": SlotState.APPROVED, "approved_at": at}
    if feedback is not None:
        changes["feedback"] = feedback
    claimed = Assignment.objects.filter(pk=slot.pk, state=SlotState.SUBMITTED).update(**changes)
    if claimed:
        ledger.pay_reward(assignment=slot, at=at)
        events.queue_event_if_subscribed(EventType.ASSIGNMENT_APPROVED, hit=slot.hit, at=at, assignment=slot)
    return claimed
