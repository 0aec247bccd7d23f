"""A requester's decisions about submitted work: approve, reject, bonus."""

from datetime import datetime, timedelta

from django.db import transaction

from hits.marketplace.errors import ApiError
from hits.marketplace.models import Assignment, BonusPayment, SlotState

from . import events, ledger, lifecycle
from .events import EventType
from .hits import current_fee_schedule, lock_hit_row

OVERRIDE_WINDOW = timedelta(days=30)
BONUS_WINDOW = timedelta(days=183)  # six months


class WrongState(ApiError):
    """The assignment is not in a state that allows the decision."""

    def __init__(self) -> None:
        super().__init__("InvalidAssignmentState", "This operation can be called with a status of: Submitted")


@transaction.atomic
def approve_assignment(
    *, slot: Assignment, now: datetime, feedback: str | None = None, override_rejection: bool = False
) -> None:
    """Approve and pay a submission once. Raises WrongState, ledger.InsufficientFunds (overrides only)."""
    if slot.state == SlotState.REJECTED and override_rejection:
        _reopen_rejected(slot, now)
    if not lifecycle.approve_slot_if_submitted(slot=slot, at=now, feedback=feedback):
        raise WrongState


@transaction.atomic
def reject_assignment(*, slot: Assignment, now: datetime, feedback: str) -> None:
    """Reject a submission with a reason and release the held money. The slot is not offered again."""
    claimed = Assignment.objects.filter(pk=slot.pk, state=SlotState.SUBMITTED).update(
        state=SlotState.REJECTED, rejected_at=now, feedback=feedback
    )
    if not claimed:
        raise WrongState
    ledger.release(hit=slot.hit, cents=slot.hit.slot_cents, at=now, assignment=slot)
    events.queue_event_if_subscribed(EventType.ASSIGNMENT_REJECTED, hit=slot.hit, at=now, assignment=slot)


@transaction.atomic
def send_bonus(*, slot: Assignment, cents: int, reason: str, now: datetime) -> BonusPayment:
    """Pay a worker a bonus for a submitted assignment.

    Raises ledger.InsufficientFunds, WrongState, and ApiError more than six months after the submission.
    """
    if slot.worker is None or slot.submitted_at is None:
        raise WrongState
    if now - slot.submitted_at > BONUS_WINDOW:
        raise ApiError(
            "InvalidAssignmentState",
            f"Assignment {slot.assignment_id} was submitted more than six months ago. "
            "A bonus can be sent within six months of the submission.",
        )
    bonus = BonusPayment.objects.create(
        requester=slot.hit.requester,
        assignment=slot,
        worker=slot.worker,
        amount_cents=cents,
        fee_cents=current_fee_schedule().bonus_fee_cents(cents),
        reason=reason,
        granted_at=now,
    )
    ledger.pay_bonus(bonus=bonus, at=now)
    return bonus


def _reopen_rejected(slot: Assignment, now: datetime) -> None:
    """Set a rejected slot back to submitted and hold its money, if that is still allowed.

    The HIT is read again under a lock, since another call may have disposed it meanwhile.
    """
    is_in_time = slot.submitted_at is not None and now - slot.submitted_at < OVERRIDE_WINDOW
    if not is_in_time or lock_hit_row(slot.hit_id).disposed_at is not None:
        raise WrongState
    claimed = Assignment.objects.filter(pk=slot.pk, state=SlotState.REJECTED).update(
        state=SlotState.SUBMITTED, rejected_at=None
    )
    if not claimed:
        raise WrongState
    ledger.hold(hit=slot.hit, cents=slot.hit.slot_cents, at=now)
