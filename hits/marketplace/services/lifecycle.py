"""What the clock does by itself: slots whose time ran out are offered again, old submissions are approved."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q

from hits.domain.jobs import turns
from hits.marketplace.models import Assignment, Attempt, Outcome, SlotState

from . import events, ledger
from .events import EventType

BATCH = 200
_ENDED = {
    Outcome.RETURNED: EventType.ASSIGNMENT_RETURNED,
    Outcome.ABANDONED: EventType.ASSIGNMENT_ABANDONED,
}


def sweep_due(*, now: datetime, limit: int = 10_000) -> int:
    """Do everything that is due, in transactions of 200 slots; return how many slots changed."""
    done = 0
    while done < limit and (changed := _sweep(Q(), now=now, limit=1)):
        done += changed
        turns.rest()
    return done


def sweep_hits(*, hit_pks: list[int], now: datetime) -> int:
    """Do what is due in these HITs."""
    return _sweep(Q(hit__in=hit_pks), now=now)


def sweep_hit_type(*, hit_type_pk: int, now: datetime) -> int:
    """Do what is due in one group."""
    return _sweep(Q(hit__hit_type=hit_type_pk), now=now)


def sweep_worker(*, worker_pk: int, now: datetime) -> int:
    """Do what is due in one worker's slots."""
    return _sweep(Q(worker=worker_pk), now=now)


def _sweep(where: Q, *, now: datetime, limit: int = 10_000) -> int:
    """Look first and write only when something is due, so that a read of quiet HITs stays a read."""
    done = 0
    while done < limit and _anything_due(now):
        changed = _abandon_some(where, now) + _approve_some(where, now)
        if not changed:
            break
        done += changed
    return done


def _anything_due(now: datetime) -> bool:
    """Ask both small indexes of what has a time; a group's own slots may be a hundred thousand."""
    return (
        Assignment.objects.filter(state=SlotState.PENDING, deadline__lte=now).exists()
        or Assignment.objects.filter(state=SlotState.SUBMITTED, auto_approval_at__lte=now).exists()
    )


def _abandon_some(where: Q, now: datetime) -> int:
    due = list(
        Assignment.objects.filter(where, state=SlotState.PENDING, deadline__lte=now)
        .order_by("deadline", "pk")  # always the same order, so that two sweeps at once do not lock crosswise
        .values_list("pk", "deadline")[:BATCH]
    )
    if not due:
        return 0
    with transaction.atomic():
        return sum(
            end_attempt(slot_pk=pk, outcome=Outcome.ABANDONED, at=deadline, deadline=deadline)
            for pk, deadline in due
            if deadline is not None
        )


def _approve_some(where: Q, now: datetime) -> int:
    due = list(
        Assignment.objects.filter(where, state=SlotState.SUBMITTED, auto_approval_at__lte=now)
        .order_by("auto_approval_at", "pk")
        .select_related("hit__requester", "worker")[:BATCH]
    )
    if not due:
        return 0
    with transaction.atomic():
        return sum(approve_slot(slot=slot, at=slot.auto_approval_at or now) for slot in due)


def end_attempt(*, slot_pk: int, outcome: Outcome, at: datetime, deadline: datetime) -> int:
    """Offer a pending slot again and close its present attempt; return 0 when somebody was faster.

    ``deadline`` names the attempt that is meant: a slot taken anew since has another one. Caller holds a
    transaction.
    """
    claimed = Assignment.objects.filter(pk=slot_pk, state=SlotState.PENDING, deadline=deadline).update(
        state=SlotState.OPEN, worker=None, accepted_at=None, deadline=None
    )
    if claimed:
        Attempt.objects.filter(assignment=slot_pk, outcome=Outcome.WORKING).update(
            outcome=outcome, ended_at=at
        )
        slot = Assignment.objects.select_related("hit__hit_type", "hit__requester").get(pk=slot_pk)
        events.tell(_ENDED[outcome], hit=slot.hit, at=at, assignment=slot)
    return claimed


def approve_slot(*, slot: Assignment, at: datetime, feedback: str | None = None) -> int:
    """Approve a submitted slot and pay it; return 0 when it was decided meanwhile. Needs a transaction."""
    changes = {"state": SlotState.APPROVED, "approved_at": at}
    if feedback is not None:
        changes["feedback"] = feedback
    claimed = Assignment.objects.filter(pk=slot.pk, state=SlotState.SUBMITTED).update(**changes)
    if claimed:
        ledger.pay_reward(assignment=slot, at=at)
        events.tell(EventType.ASSIGNMENT_APPROVED, hit=slot.hit, at=at, assignment=slot)
    return claimed
