"""Decide on submissions, and carry the decision to the marketplace exactly once.

A decision and the calls that it needs are committed together; then each call is made; then its
result is committed. A process that dies in between leaves an ``intent``: before a bonus is tried again,
however soon, the marketplace's own list of bonuses is asked, because its token is forgotten after a day.
"""

import logging

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from hits import registry
from hits.domain.crashpoints import crash_point
from hits.domain.hashing import request_token
from hits.domain.states import AssignmentStatus, CallState, Match, Verdict
from hits.models import Assignment, Batch, Decision, OutgoingCall
from hits.mturk.port import Failure, Marketplace, MarketplaceError
from hits.payments import ledger
from hits.payments.models import Entry
from hits.services import audit
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Conflict, Refused

logger = logging.getLogger(__name__)

_PENDING = [CallState.PLANNED, CallState.INTENT]


def decide(
    *, assignment: Assignment, verdict: Verdict, by: AbstractBaseUser | None, feedback: str = ""
) -> Decision:
    """Write down a verdict and the calls that it needs. Nothing leaves yet: see ``settle``.

    Raises:
        Refused: an unconfirmed submission, or a rejection without a reason.
        Conflict: decided already, by a person or by the marketplace's clock.
    """
    feedback = feedback.strip()
    if verdict is Verdict.REJECT and not feedback:
        raise Refused("feedback: say why; the worker reads it")
    if verdict is Verdict.APPROVE and assignment.match != Match.MATCHED:
        raise Refused("The marketplace does not show this submission as ours, so it cannot be approved here.")
    if assignment.status != AssignmentStatus.SUBMITTED:
        raise Conflict(f"This assignment is {assignment.status.lower()} already.")
    try:
        with transaction.atomic():
            decision = Decision.objects.create(
                assignment=assignment,
                verdict=verdict,
                feedback=feedback[:1000],
                decided_by_id=by.pk if by else None,
            )
            _plan_calls(decision, assignment, verdict)
            audit.record(
                project=assignment.hit.unit.batch.project,
                actor=by,
                action=f"assignment.{verdict.value}",
                subject=assignment.pk,
            )
    except IntegrityError as error:
        raise Conflict("Somebody else decided on this assignment just now.") from error
    return decision


def _plan_calls(decision: Decision, assignment: Assignment, verdict: Verdict) -> None:
    operations = OutgoingCall.Operation
    if verdict is Verdict.REJECT:
        _plan(decision, operations.REJECT, 0, 0)
        return
    batch = assignment.hit.unit.batch
    fee = batch.fees.fee_cents(batch.reward_cents, assignment.hit.max_assignments)
    _plan(decision, operations.APPROVE, batch.reward_cents, fee)
    _plan_bonus(decision, _bonus_cents(assignment))


def _bonus_cents(assignment: Assignment) -> int:
    batch = assignment.hit.unit.batch
    assert assignment.submission is not None
    return registry.get(batch.kind).bonus_items(assignment.submission.answer) * batch.bonus_cents


def promise_bonuses(*, batch: Batch) -> int:
    """Plan the bonuses of what was approved without us, by the marketplace's clock or by a script.

    The task's page promised them, whoever approves. Returns how many were planned; repeatable.
    """
    if not batch.bonus_cents:
        return 0
    approved = Assignment.objects.filter(
        hit__unit__batch=batch, status=AssignmentStatus.APPROVED, match=Match.MATCHED, decisions=None
    ).select_related("hit__unit__batch", "submission")
    planned = 0
    for assignment in approved:
        bonus = _bonus_cents(assignment)
        if not bonus:
            continue
        try:
            with transaction.atomic():
                decision = Decision.objects.create(
                    assignment=assignment, verdict=Verdict.APPROVE, feedback=""
                )
                _plan_bonus(decision, bonus)
        except IntegrityError:
            continue  # another process planned it a moment ago
        planned += 1
    return planned


def _plan_bonus(decision: Decision, cents: int) -> None:
    hit = decision.assignment.hit
    if cents:
        fee = hit.unit.batch.fees.bonus_fee_cents(cents)
        _plan(decision, OutgoingCall.Operation.BONUS, cents, fee)


def _plan(decision: Decision, operation: OutgoingCall.Operation, amount: int, fee: int) -> None:
    OutgoingCall.objects.create(
        batch=decision.assignment.hit.unit.batch,
        decision=decision,
        assignment=decision.assignment,
        operation=operation,
        amount_cents=amount,
        fee_cents=fee,
        # With the assignment's id: another installation on the same account counts its decisions from 1 too.
        token=request_token(
            decision.assignment.hit.environment,
            decision.assignment.assignment_id,
            decision.pk,
            operation.value,
        ),
    )


def settle(*, decision: Decision, marketplace: Marketplace) -> bool:
    """Make the decision's outstanding calls, in order; return whether all are done. Repeatable.

    A call rests on the one before it: no bonus leaves while the approval is refused.

    Raises:
        Refused: the marketplace refused one for good; what was done stays done. Or the batch belongs to
            another marketplace.
    """
    refuse_other_marketplace(decision.assignment.hit.unit.batch, marketplace)
    for call in decision.calls.exclude(state=CallState.DONE):
        if call.state == CallState.REFUSED:
            return False
        _settle_call(call, marketplace)
        call.refresh_from_db(fields=["state"])  # a rival may have made it, or been refused, meanwhile
        if call.state != CallState.DONE:
            return False
    return not decision.calls.exclude(state=CallState.DONE).exists()


def settle_outstanding(*, marketplace: Marketplace) -> int:
    """Settle what an earlier process left behind; return how many decisions were tried."""
    here = marketplace.environment.name
    waiting = (
        Decision.objects.filter(calls__state__in=_PENDING, assignment__hit__environment=here)
        .distinct()
        .select_related("assignment__hit__unit__batch", "assignment__worker")
    )
    count = 0
    for decision in waiting:
        try:
            settle(decision=decision, marketplace=marketplace)
        except Refused as error:
            # One refused payment must not keep the others waiting; it is shown on the batch's page.
            logger.warning("decision %s is not settled: %s", decision.pk, error)
        count += 1
    return count


def _settle_call(call: OutgoingCall, marketplace: Marketplace) -> None:
    tried = call.attempt_at is not None  # whatever became of it: refused since, or its reply lost
    with transaction.atomic():
        intended = OutgoingCall.objects.filter(pk=call.pk, state__in=_PENDING).update(
            state=CallState.INTENT, attempt_at=timezone.now()
        )
    if not intended:
        return  # another process made it, or was refused, a moment ago
    crash_point("settle.after_intent")
    try:
        if not (tried and _bonus_stands(call, marketplace)):
            _make(call, marketplace)
    except MarketplaceError as error:
        if not _went_through(call, error, marketplace):
            _give_up(call, error)
            raise Refused(f"the marketplace refused to {call.operation}: {error}") from error
    crash_point("settle.after_call")
    with transaction.atomic():
        OutgoingCall.objects.filter(pk=call.pk).update(state=CallState.DONE, done_at=timezone.now(), error="")
        _record(call)


def _make(call: OutgoingCall, marketplace: Marketplace) -> None:
    decision = call.decision
    assignment = decision.assignment
    if call.operation == OutgoingCall.Operation.APPROVE:
        marketplace.approve(assignment.assignment_id, decision.feedback)
    elif call.operation == OutgoingCall.Operation.REJECT:
        marketplace.reject(assignment.assignment_id, decision.feedback)
    else:
        marketplace.send_bonus(
            worker_id=assignment.worker.worker_id,
            assignment_id=assignment.assignment_id,
            amount_cents=call.amount_cents,
            reason=_bonus_reason(call),
            token=call.token,
        )


def _bonus_reason(call: OutgoingCall) -> str:
    return f"Further observations, complete. Reference {call.token[:16]}"


def _bonus_stands(call: OutgoingCall, marketplace: Marketplace) -> bool:
    if call.operation != OutgoingCall.Operation.BONUS:
        return False
    reference = call.token[:16]
    return any(
        reference in bonus.reason
        for bonus in marketplace.list_bonuses(call.decision.assignment.assignment_id)
    )


def _went_through(call: OutgoingCall, error: MarketplaceError, marketplace: Marketplace) -> bool:
    """Tell whether the error says that an earlier, identical call succeeded.

    Raises:
        Refused: the marketplace does not say; the intent stands, and is taken up again.
    """
    if call.operation == OutgoingCall.Operation.BONUS:
        return error.failure is Failure.ALREADY_EXISTS
    if error.failure is not Failure.WRONG_STATE:
        return False
    wanted = (
        AssignmentStatus.APPROVED
        if call.operation == OutgoingCall.Operation.APPROVE
        else AssignmentStatus.REJECTED
    )
    assignment = call.decision.assignment
    assert assignment.hit.hit_id is not None
    try:
        shown = {a.assignment_id: a.status for a in marketplace.list_assignments(assignment.hit.hit_id)}
    except MarketplaceError as silence:
        raise Refused(f"the marketplace did not say how assignment {assignment.pk} stands") from silence
    return shown.get(assignment.assignment_id) == wanted


def _give_up(call: OutgoingCall, error: MarketplaceError) -> None:
    if error.retry:
        return  # the intent stands; the sweeper repeats it with the same token
    OutgoingCall.objects.filter(pk=call.pk, state=CallState.INTENT).update(
        state=CallState.REFUSED, error=str(error)[:400]
    )


def _record(call: OutgoingCall) -> None:
    assignment = call.decision.assignment
    batch = assignment.hit.unit.batch
    key = f"{assignment.hit_id}:{assignment.assignment_id}"
    facts = {"batch": batch, "assignment": assignment}
    if call.operation == OutgoingCall.Operation.APPROVE:
        Assignment.objects.filter(pk=assignment.pk).update(status=AssignmentStatus.APPROVED)
        ledger.write(entry=Entry.REWARD, amount_cents=call.amount_cents, key=f"reward:{key}", **facts)
        ledger.write(entry=Entry.FEE, amount_cents=call.fee_cents, key=f"fee:reward:{key}", **facts)
    elif call.operation == OutgoingCall.Operation.REJECT:
        Assignment.objects.filter(pk=assignment.pk).update(status=AssignmentStatus.REJECTED)
        held = batch.slot_cents(assignment.hit.max_assignments)
        ledger.write(entry=Entry.RELEASE, amount_cents=held, key=f"release:{key}", **facts)
    else:
        ledger.write(entry=Entry.BONUS, amount_cents=call.amount_cents, key=f"bonus:{key}", **facts)
        ledger.write(entry=Entry.FEE, amount_cents=call.fee_cents, key=f"fee:bonus:{key}", **facts)
