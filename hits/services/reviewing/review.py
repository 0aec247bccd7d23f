"""Decide on submissions, once each. The outbox carries a decision to the marketplace.

A decision and the calls that it needs are committed together (``decide``, ``override``). ``settle`` makes the calls
now; what fails or dies on the way is taken up by ``outbox.settle_outstanding``.
"""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from hits import registry
from hits.domain.states import AssignmentStatus, CallState, HitState, Match, Remedy, Verdict
from hits.models import Assignment, Batch, Decision, OutgoingCall, Resolution
from hits.mturk.port import Marketplace
from hits.services import audit
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Conflict, Refused
from hits.services.outbox import outbox

OVERRIDE_WITHIN = timedelta(days=30)  # of the submission, as Amazon's service has it
_BONUS_REASON = "Further observations, complete."


def decide(
    *,
    assignment: Assignment,
    verdict: Verdict,
    by: AbstractBaseUser | None,
    feedback: str = "",
    resolved: Resolution | None = None,
) -> Decision:
    """Write down a verdict and the calls that it needs. Nothing leaves yet: see ``settle``.

    ``resolved`` is a person's remedy for work that our pages do not know; with it, such work may be approved too.

    Raises:
        Refused: an unconfirmed submission, or a rejection without a reason.
        Conflict: decided already, by a person or by the marketplace's clock.
    """
    feedback = feedback.strip()
    if verdict is Verdict.REJECT and not feedback:
        raise Refused("feedback: say why; the worker reads it")
    if verdict is Verdict.APPROVE and not _may_approve(assignment, resolved):
        raise Refused("The marketplace does not show this submission as ours, so it cannot be approved here.")
    if assignment.status != AssignmentStatus.SUBMITTED:
        raise Conflict(f"This assignment is {assignment.status.lower()} already.")
    return _write(assignment, verdict, by, feedback, overrides=None)


def override(*, assignment: Assignment, by: AbstractBaseUser | None, feedback: str = "") -> Decision:
    """Approve what was rejected, and pay it. Nothing leaves yet: see ``settle``.

    An approval of ours that a script's rejection overtook is the one that goes out again, as an override.

    Raises:
        Refused: submitted 30 days ago or longer, not ours, or its task is disposed of.
        Conflict: it is not rejected, or its rejection is overridden already.
    """
    if assignment.status != AssignmentStatus.REJECTED:
        raise Conflict(
            f"This assignment is {assignment.status.lower()}, so there is no rejection to override."
        )
    why = no_override(assignment)
    if why:
        raise Refused(why)
    approval = assignment.decisions.filter(verdict=Verdict.APPROVE).first()
    if approval is not None:
        return _override_with(approval, by)
    rejection = assignment.decisions.filter(verdict=Verdict.REJECT).order_by("-pk").first()
    return _write(assignment, Verdict.APPROVE, by, feedback.strip(), overrides=rejection)


@transaction.atomic
def _override_with(approval: Decision, by: AbstractBaseUser | None) -> Decision:
    """Put a refused approval back into line as an override; its bonus waits for it already."""
    refused = approval.calls.filter(operation=OutgoingCall.Operation.APPROVE, state=CallState.REFUSED)
    args = {"feedback": approval.feedback, "override": True}
    if not refused.update(state=CallState.PLANNED, error="", args=args):
        raise Conflict("This rejection is overridden already.")
    audit.record(
        project=approval.assignment.hit.unit.batch.project,
        actor=by,
        action="assignment.override",
        subject=approval.assignment_id,
    )
    return approval


def no_override(assignment: Assignment) -> str:
    """Return why a rejection cannot be overridden, or nothing."""
    last = assignment.submitted_at + OVERRIDE_WITHIN
    if timezone.now() >= last:
        return (
            "A rejection can be overridden within 30 days of the submission. This one was possible until "
            f"{last:%d %b %Y, %H:%M} UTC: send the worker a compensation instead."
        )
    if assignment.match != Match.MATCHED:
        return "The marketplace does not show this submission as ours, so it cannot be approved here."
    if assignment.hit.state == HitState.EXPIRED:
        return "Its task is disposed of, so the marketplace overrides nothing any more: send a compensation."
    return ""


def _may_approve(assignment: Assignment, resolved: Resolution | None) -> bool:
    if assignment.match == Match.MATCHED:
        return True
    return (
        resolved is not None and resolved.remedy == Remedy.APPROVE and resolved.assignment_id == assignment.pk
    )


def _write(
    assignment: Assignment,
    verdict: Verdict,
    by: AbstractBaseUser | None,
    feedback: str,
    *,
    overrides: Decision | None,
) -> Decision:
    overriding = assignment.status == AssignmentStatus.REJECTED
    try:
        with transaction.atomic():
            decision = Decision.objects.create(
                assignment=assignment,
                verdict=verdict,
                feedback=feedback[:1000],
                decided_by_id=by.pk if by else None,
                overrides=overrides,
            )
            _plan_calls(decision, assignment, verdict, overriding=overriding)
            audit.record(
                project=assignment.hit.unit.batch.project,
                actor=by,
                action="assignment.override" if overriding else f"assignment.{verdict.value}",
                subject=assignment.pk,
            )
    except IntegrityError as error:
        raise Conflict("Somebody else decided on this assignment just now.") from error
    return decision


def _plan_calls(decision: Decision, assignment: Assignment, verdict: Verdict, *, overriding: bool) -> None:
    operations = OutgoingCall.Operation
    feedback = {"feedback": decision.feedback}
    if verdict is Verdict.REJECT:
        _plan(decision, operations.REJECT, args=feedback)
        return
    batch = assignment.hit.unit.batch
    fee = batch.slot_cents(assignment.hit.max_assignments) - batch.reward_cents
    args = feedback | {"override": overriding}
    _plan(decision, operations.APPROVE, args=args, amount_cents=batch.reward_cents, fee_cents=fee)
    _plan_bonus(decision, _bonus_cents(assignment))


def _bonus_cents(assignment: Assignment) -> int:
    batch = assignment.hit.unit.batch
    if assignment.submission is None:
        return 0  # nobody can tell what was promised for an answer that our pages never saw
    return registry.get(batch.kind).bonus_items(assignment.submission.answer) * batch.bonus_cents


def promise_bonuses(*, batch: Batch) -> int:
    """Plan the bonuses of what was approved without us, by the marketplace's clock or by a script.

    The task's page promised them, whoever approves, and whether somebody meant to reject it. Returns how many were
    planned; repeatable.
    """
    if not batch.bonus_cents:
        return 0
    shown = Assignment.objects.filter(
        hit__unit__batch=batch, status=AssignmentStatus.APPROVED, match=Match.MATCHED
    )
    approved = shown.exclude(decisions__verdict=Verdict.APPROVE).select_related(
        "hit__unit__batch", "submission"
    )
    planned = 0
    for assignment in approved:
        bonus = _bonus_cents(assignment)
        if not bonus:
            continue
        try:
            with transaction.atomic():
                decision = Decision.objects.create(
                    assignment=assignment,
                    verdict=Verdict.APPROVE,
                    overrides=assignment.decisions.filter(verdict=Verdict.REJECT).first(),
                )
                _plan_bonus(decision, bonus)
        except IntegrityError:
            continue  # another process planned it a moment ago
        planned += 1
    return planned


def _plan_bonus(decision: Decision, cents: int) -> None:
    if cents:
        fee = decision.assignment.hit.unit.batch.fees.bonus_fee_cents(cents)
        operation = OutgoingCall.Operation.BONUS
        _plan(decision, operation, args={"reason": _BONUS_REASON}, amount_cents=cents, fee_cents=fee)


def _plan(
    decision: Decision,
    operation: OutgoingCall.Operation,
    *,
    args: dict[str, Any],
    amount_cents: int = 0,
    fee_cents: int = 0,
) -> None:
    assignment = decision.assignment
    outbox.plan(
        operation=operation,
        batch=assignment.hit.unit.batch,
        # With the assignment's id: another installation on the same account counts its decisions from 1 too.
        key=(assignment.assignment_id, decision.pk, operation.value),
        decision=decision,
        assignment=assignment,
        args=args,
        amount_cents=amount_cents,
        fee_cents=fee_cents,
    )


def settle(*, decision: Decision, marketplace: Marketplace) -> bool:
    """Make the decision's outstanding calls now, in order; return whether all are done. Repeatable.

    Raises:
        Refused: the marketplace refused one for good; what was done stays done. Or the batch belongs to
            another marketplace.
    """
    refuse_other_marketplace(decision.assignment.hit.unit.batch, marketplace)
    for call in decision.calls.exclude(state=CallState.DONE).order_by("pk"):
        if call.state == CallState.REFUSED or not outbox.settle_call(call=call, marketplace=marketplace):
            return False
    return True
