"""What each operation of the outbox asks of the marketplace, how one sees that it stands, and what follows.

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
# Only a token stands between repeating these and doing them twice, and a token dies after a day.
LOOK_FIRST = frozenset({Operation.BONUS, Operation.EXTEND})
_CLOSE_ENOUGH = timedelta(seconds=1)  # the wire carries milliseconds, and some services whole seconds
_REFERENCE = 16
_NO_OVERRIDE = (
    "The marketplace overrides this rejection no more: its task is disposed of, or 30 days have passed since the "
    "submission. Send the worker a compensation instead."
)


def reference(call: OutgoingCall) -> str:
    """Return what names the call in a bonus's reason, so that it can be found there."""
    return call.token[:_REFERENCE]


def make(call: OutgoingCall, marketplace: Marketplace) -> None:
    """Make the call.

    Raises:
        MarketplaceError: it was not carried out, or its reply was lost.
    """
    if call.operation == Operation.NOTIFY:
        _notify(call, marketplace)
    elif call.operation in {Operation.APPROVE, Operation.REJECT, Operation.BONUS}:
        _about_assignment(call, marketplace)
    else:
        _about_hit(call, marketplace)


def _about_assignment(call: OutgoingCall, marketplace: Marketplace) -> None:
    assignment = _assignment(call)
    if call.operation == Operation.BONUS:
        marketplace.send_bonus(
            worker_id=assignment.worker.worker_id,
            assignment_id=assignment.assignment_id,
            amount_cents=call.amount_cents,
            reason=f"{call.args.get('reason', 'Bonus.')} Reference {reference(call)}",
            token=call.token,
        )
        return
    feedback = call.args.get("feedback") or (call.decision.feedback if call.decision is not None else "")
    if call.operation == Operation.REJECT:
        marketplace.reject(assignment.assignment_id, feedback)
    elif call.args.get("override"):
        marketplace.approve(assignment.assignment_id, feedback, override=True)
    else:
        marketplace.approve(assignment.assignment_id, feedback)


def _notify(call: OutgoingCall, marketplace: Marketplace) -> None:
    """Write to the worker. Whom the marketplace does not reach is noted; asking again would change nothing.

    Mechanical Turk has no token for messages: a process killed after this call leaves the same words sent twice.
    """
    worker = _assignment(call).worker
    missed = marketplace.notify([worker.worker_id], call.args["subject"], call.args["text"])
    if why := missed.get(worker.worker_id):
        logger.warning("worker %s was not told: %s", worker, why.replace(worker.worker_id, str(worker)))


def _about_hit(call: OutgoingCall, marketplace: Marketplace) -> None:
    hit_id = _hit_id(call)
    if call.operation == Operation.EXTEND:
        marketplace.add_assignments(hit_id, more=call.args["more"], token=call.token)
    elif call.operation == Operation.PROLONG:
        marketplace.prolong(hit_id, datetime.fromisoformat(call.args["expires_at"]))
    else:
        marketplace.expire(hit_id)


def went_through(call: OutgoingCall, error: MarketplaceError, marketplace: Marketplace) -> bool:
    """Tell whether the error says that the wanted state stands already, for instance by an earlier, lost reply.

    Raises:
        MarketplaceError: the marketplace does not say.
    """
    if error.failure is Failure.ALREADY_EXISTS:
        return call.operation not in {Operation.APPROVE, Operation.REJECT}
    return error.failure is Failure.WRONG_STATE and stands(call, marketplace)


def stands(call: OutgoingCall, marketplace: Marketplace) -> bool:
    """Look at the marketplace for what the call is to bring about."""
    if call.operation == Operation.NOTIFY:
        return False  # no service says what it sent
    if call.operation == Operation.BONUS:
        sent = marketplace.list_bonuses(_assignment(call).assignment_id)
        return any(reference(call) in bonus.reason for bonus in sent)
    if call.operation in {Operation.APPROVE, Operation.REJECT}:
        shown = marketplace.get_assignment(_assignment(call).assignment_id)
        approving = call.operation == Operation.APPROVE
        return shown.status == (AssignmentStatus.APPROVED if approving else AssignmentStatus.REJECTED)
    hit = marketplace.get_hit(_hit_id(call))
    if call.operation == Operation.EXTEND:
        return bool(hit.max_assignments >= call.args["total"])
    if call.operation == Operation.PROLONG:
        return hit.expires_at >= datetime.fromisoformat(call.args["expires_at"]) - _CLOSE_ENOUGH
    return hit.status == "Disposed"


def overtaken(call: OutgoingCall, error: MarketplaceError, marketplace: Marketplace) -> str:
    """Return in words that somebody else decided first, and write down what they did; else nothing.

    The marketplace's clock approves what is left alone, and a script of the requester's may do either.

    Raises:
        MarketplaceError: the marketplace does not say.
    """
    if error.failure is not Failure.WRONG_STATE or call.assignment is None:
        return ""
    if call.operation == Operation.NOTIFY:
        return ""
    status = marketplace.get_assignment(call.assignment.assignment_id).status
    with transaction.atomic():
        if status == AssignmentStatus.APPROVED:
            _set_status(call, AssignmentStatus.APPROVED)
            postings.book_reward(call.assignment)
            return (
                "The marketplace approved and paid it before this decision arrived, by its clock or a script."
            )
        if status == AssignmentStatus.REJECTED:
            _set_status(call, AssignmentStatus.REJECTED)
            postings.book_rejection(call.assignment)
            if call.args.get("override"):
                return _NO_OVERRIDE
            return "It was rejected on the marketplace itself before this decision arrived."
    return ""


def record(call: OutgoingCall) -> None:
    """Write what follows from a call that went through; inside the caller's transaction."""
    if call.operation == Operation.APPROVE:
        _set_status(call, AssignmentStatus.APPROVED)
        postings.book_reward(_assignment(call))
    elif call.operation == Operation.REJECT:
        _set_status(call, AssignmentStatus.REJECTED)
        postings.book_rejection(_assignment(call))
    elif call.operation == Operation.BONUS:
        postings.book_bonus(call)
    elif call.operation == Operation.EXTEND:
        Hit.objects.filter(pk=_hit(call).pk).update(max_assignments=call.args["total"])
        postings.book_more_assignments(call)
    elif call.operation == Operation.PROLONG:
        Hit.objects.filter(pk=_hit(call).pk).update(
            expires_at=datetime.fromisoformat(call.args["expires_at"])
        )
    elif call.operation == Operation.EXPIRE:
        Hit.objects.filter(pk=_hit(call).pk).update(expires_at=timezone.now())


def _set_status(call: OutgoingCall, status: AssignmentStatus) -> None:
    Assignment.objects.filter(pk=_assignment(call).pk).update(status=status)


def _assignment(call: OutgoingCall) -> Assignment:
    assert call.assignment is not None  # the row's check constraint holds it
    return call.assignment


def _hit(call: OutgoingCall) -> Hit:
    assert call.hit is not None
    return call.hit


def _hit_id(call: OutgoingCall) -> str:
    hit_id = _hit(call).hit_id
    assert hit_id is not None  # calls are planned about HITs that stand
    return hit_id
