"""Each operation of the outbox: its marketplace call, the check of its effect, and its consequences for our rows.

``args`` of the rows: approve ``{"feedback", "override"}``, reject ``{"feedback"}``, bonus ``{"reason"}``, extend
``{"more", "total"}`` (assignments on top, and in all), prolong ``{"expires_at"}`` (ISO 8601), notify
``{"subject", "text"}``, expire nothing.
"""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from hits.domain.states import AssignmentStatus
from hits.models import Assignment, Hit, OutgoingCall
from hits.mturk.port import Failure, Marketplace, MarketplaceError
from hits.services.money import postings

logger = logging.getLogger(__name__)

Operation = OutgoingCall.Operation
# Only the token prevents a second effect of these operations, and a token expires after a day.
CHECK_BEFORE_RETRY = frozenset({Operation.BONUS, Operation.EXTEND})
_TIME_TOLERANCE = timedelta(seconds=1)  # some services keep milliseconds, others whole seconds
_REFERENCE_LENGTH = 16
_OVERRIDE_REFUSED = (
    "This rejection can no longer be overridden: its task was disposed of, or 30 days have passed since the "
    "submission. Pay the worker by a compensation task instead."
)


def call_reference(call: OutgoingCall) -> str:
    """Return the reference of the call in a bonus's reason, by which it can be found."""
    return call.token[:_REFERENCE_LENGTH]


def execute_call(call: OutgoingCall, marketplace: Marketplace) -> None:
    """Make the call.

    Raises:
        MarketplaceError: it failed, or its reply was lost.
    """
    if call.operation == Operation.NOTIFY:
        _notify_worker(call, marketplace)
    elif call.operation in {Operation.APPROVE, Operation.REJECT, Operation.BONUS}:
        _execute_for_assignment(call, marketplace)
    else:
        _execute_for_hit(call, marketplace)


def _execute_for_assignment(call: OutgoingCall, marketplace: Marketplace) -> None:
    assignment = _assignment(call)
    if call.operation == Operation.BONUS:
        marketplace.send_bonus(
            worker_id=assignment.worker.worker_id,
            assignment_id=assignment.assignment_id,
            amount_cents=call.amount_cents,
            reason=f"{call.args.get('reason', 'Bonus.')} Reference {call_reference(call)}",
            token=call.token,
        )
        return
    feedback = call.args.get("feedback") or (call.decision.feedback if call.decision is not None else "")
    if call.operation == Operation.REJECT:
        marketplace.reject(assignment.assignment_id, feedback)
    else:
        is_override = bool(call.args.get("override"))
        marketplace.approve(assignment.assignment_id, feedback, override=is_override)


def _notify_worker(call: OutgoingCall, marketplace: Marketplace) -> None:
    """Send a message to the worker; log it if the marketplace does not reach the worker, without a retry.

    Mechanical Turk has no token for messages: if the process dies after this call, the worker gets the message twice.
    """
    worker = _assignment(call).worker
    missed = marketplace.notify([worker.worker_id], call.args["subject"], call.args["text"])
    if reason := missed.get(worker.worker_id):
        logger.warning(
            "worker %s was not notified: %s", worker, reason.replace(worker.worker_id, str(worker))
        )


def _execute_for_hit(call: OutgoingCall, marketplace: Marketplace) -> None:
    hit_id = _hit_id(call)
    if call.operation == Operation.EXTEND:
        marketplace.add_assignments(hit_id, more=call.args["more"], token=call.token)
    elif call.operation == Operation.PROLONG:
        marketplace.prolong(hit_id, datetime.fromisoformat(call.args["expires_at"]))
    else:
        marketplace.expire(hit_id)


def is_already_done(call: OutgoingCall, error: MarketplaceError, marketplace: Marketplace) -> bool:
    """Return whether the error means that the call had its effect earlier, for example with a lost reply.

    Raises:
        MarketplaceError: the marketplace does not answer.
    """
    if error.failure is Failure.ALREADY_EXISTS:
        return call.operation not in {Operation.APPROVE, Operation.REJECT}
    return error.failure is Failure.WRONG_STATE and has_taken_effect(call, marketplace)


def has_taken_effect(call: OutgoingCall, marketplace: Marketplace) -> bool:
    """Return whether the marketplace shows the effect of the call."""
    if call.operation == Operation.NOTIFY:
        return False  # no service lists its messages
    if call.operation == Operation.BONUS:
        sent = marketplace.list_bonuses(_assignment(call).assignment_id)
        return any(call_reference(call) in bonus.reason for bonus in sent)
    if call.operation in {Operation.APPROVE, Operation.REJECT}:
        remote = marketplace.get_assignment(_assignment(call).assignment_id)
        is_approval = call.operation == Operation.APPROVE
        return remote.status == (AssignmentStatus.APPROVED if is_approval else AssignmentStatus.REJECTED)
    hit = marketplace.get_hit(_hit_id(call))
    if call.operation == Operation.EXTEND:
        return bool(hit.max_assignments >= call.args["total"])
    if call.operation == Operation.PROLONG:
        return hit.expires_at >= datetime.fromisoformat(call.args["expires_at"]) - _TIME_TOLERANCE
    return hit.status == "Disposed"


def record_earlier_decision(call: OutgoingCall, error: MarketplaceError, marketplace: Marketplace) -> str:
    """Record a decision that auto-approval or a requester's script made first; return its message, else nothing.

    Raises:
        MarketplaceError: the marketplace does not answer.
    """
    if error.failure is not Failure.WRONG_STATE or call.assignment is None:
        return ""
    if call.operation == Operation.NOTIFY:
        return ""
    status = marketplace.get_assignment(call.assignment.assignment_id).status
    with transaction.atomic():
        if status == AssignmentStatus.APPROVED:
            _set_status(call, AssignmentStatus.APPROVED)
            postings.post_reward(call.assignment)
            return (
                "The marketplace approved and paid the submission before this decision arrived "
                "(auto-approval or a script)."
            )
        if status == AssignmentStatus.REJECTED:
            _set_status(call, AssignmentStatus.REJECTED)
            postings.post_rejection(call.assignment)
            if call.args.get("override"):
                return _OVERRIDE_REFUSED
            return "The submission was rejected on the marketplace itself before this decision arrived."
    return ""


def record_success(call: OutgoingCall) -> None:
    """Record the consequences of a successful call, inside the caller's transaction."""
    if call.operation == Operation.APPROVE:
        _set_status(call, AssignmentStatus.APPROVED)
        postings.post_reward(_assignment(call))
    elif call.operation == Operation.REJECT:
        _set_status(call, AssignmentStatus.REJECTED)
        postings.post_rejection(_assignment(call))
    elif call.operation == Operation.BONUS:
        postings.post_bonus(call)
    elif call.operation == Operation.EXTEND:
        Hit.objects.filter(pk=_hit(call).pk).update(max_assignments=call.args["total"])
        postings.post_added_assignments(call)
    elif call.operation == Operation.PROLONG:
        Hit.objects.filter(pk=_hit(call).pk).update(
            expires_at=datetime.fromisoformat(call.args["expires_at"])
        )
    elif call.operation == Operation.EXPIRE:
        Hit.objects.filter(pk=_hit(call).pk).update(expires_at=timezone.now())


def _set_status(call: OutgoingCall, status: AssignmentStatus) -> None:
    Assignment.objects.filter(pk=_assignment(call).pk).update(status=status)


def _assignment(call: OutgoingCall) -> Assignment:
    assert call.assignment is not None  # the row's check constraint guarantees it
    return call.assignment


def _hit(call: OutgoingCall) -> Hit:
    assert call.hit is not None
    return call.hit


def _hit_id(call: OutgoingCall) -> str:
    hit_id = _hit(call).hit_id
    assert hit_id is not None  # calls are planned for existing HITs only
    return hit_id
