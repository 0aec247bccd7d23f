"""Decide on submissions, once each. The outbox sends a decision to the marketplace.

One transaction commits a decision and its calls (``decide_assignment``, ``override_rejection``). ``settle_decision``
makes the calls now; ``outbox.settle_outstanding_calls`` repeats failed and orphaned ones.
"""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from hits import registry
from hits.domain.states import (
    AssignmentStatus,
    CallState,
    HitState,
    MismatchRemedy,
    ReviewVerdict,
    SubmissionMatch,
)
from hits.models import Assignment, Batch, Decision, OutgoingCall, Resolution
from hits.mturk.port import Marketplace
from hits.services import audit
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.errors import Conflict, Refused
from hits.services.outbox import outbox

OVERRIDE_PERIOD = timedelta(days=30)  # after the submission, as on Amazon's service
_BONUS_REASON = "Your further observations are complete."


def decide_assignment(
    *,
    assignment: Assignment,
    verdict: ReviewVerdict,
    by: AbstractBaseUser | None,
    feedback: str = "",
    resolution: Resolution | None = None,
) -> Decision:
    """Write a verdict and its calls; ``settle_decision`` makes the calls.

    ``resolution`` is a person's remedy for unmatched work, which may be approved with it.

    Raises:
        Refused: an unconfirmed submission, or a rejection without a reason.
        Conflict: a person or auto-approval decided already.
    """
    feedback = feedback.strip()
    if verdict is ReviewVerdict.REJECT and not feedback:
        raise Refused("feedback: write the reason; the worker reads it")
    if verdict is ReviewVerdict.APPROVE and not _can_approve(assignment, resolution):
        raise Refused("The marketplace does not list this submission as ours. You cannot approve it here.")
    if assignment.status != AssignmentStatus.SUBMITTED:
        raise Conflict(f"This assignment is {assignment.status.lower()} already.")
    return _write_decision(assignment, verdict, by, feedback, overrides=None)


def override_rejection(
    *, assignment: Assignment, by: AbstractBaseUser | None, feedback: str = ""
) -> Decision:
    """Approve and pay a rejected assignment; ``settle_decision`` makes the calls.

    If a script's rejection superseded our approval, that approval is sent again as an override.

    Raises:
        Refused: submitted 30 days ago or longer, not ours, or its task is disposed of.
        Conflict: it is not rejected, or its rejection is overridden already.
    """
    if assignment.status != AssignmentStatus.REJECTED:
        raise Conflict(f"This assignment is {assignment.status.lower()} and has no rejection to override.")
    refusal = override_refusal_reason(assignment)
    if refusal:
        raise Refused(refusal)
    approval = assignment.decisions.filter(verdict=ReviewVerdict.APPROVE).first()
    if approval is not None:
        return _plan_as_override(approval, by)
    rejection = assignment.decisions.filter(verdict=ReviewVerdict.REJECT).order_by("-pk").first()
    return _write_decision(assignment, ReviewVerdict.APPROVE, by, feedback.strip(), overrides=rejection)


@transaction.atomic
def _plan_as_override(approval: Decision, by: AbstractBaseUser | None) -> Decision:
    """Plan a refused approval again as an override; its bonus waits for it already."""
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


def override_refusal_reason(assignment: Assignment) -> str:
    """Return why a rejection cannot be overridden, or nothing."""
    deadline = assignment.submitted_at + OVERRIDE_PERIOD
    if timezone.now() >= deadline:
        return (
            "A rejection can be overridden within 30 days of the submission, in this case until "
            f"{deadline:%d %b %Y, %H:%M} UTC. Send the worker a compensation instead."
        )
    if assignment.match != SubmissionMatch.MATCHED:
        return "The marketplace does not list this submission as ours. You cannot approve it here."
    if assignment.hit.state == HitState.EXPIRED:
        return "The submission's task is disposed of, so the marketplace allows no override: send a compensation."
    return ""


def _can_approve(assignment: Assignment, resolution: Resolution | None) -> bool:
    if assignment.match == SubmissionMatch.MATCHED:
        return True
    return (
        resolution is not None
        and resolution.remedy == MismatchRemedy.APPROVE
        and resolution.assignment_id == assignment.pk
    )


def _write_decision(
    assignment: Assignment,
    verdict: ReviewVerdict,
    by: AbstractBaseUser | None,
    feedback: str,
    *,
    overrides: Decision | None,
) -> Decision:
    is_override = assignment.status == AssignmentStatus.REJECTED
    try:
        with transaction.atomic():
            decision = Decision.objects.create(
                assignment=assignment,
                verdict=verdict,
                feedback=feedback[:1000],
                decided_by_id=by.pk if by else None,
                overrides=overrides,
            )
            _plan_calls(decision, assignment, verdict, is_override=is_override)
            audit.record(
                project=assignment.hit.unit.batch.project,
                actor=by,
                action="assignment.override" if is_override else f"assignment.{verdict.value}",
                subject=assignment.pk,
            )
    except IntegrityError as error:
        raise Conflict("Somebody else decided on this assignment just now.") from error
    return decision


def _plan_calls(
    decision: Decision, assignment: Assignment, verdict: ReviewVerdict, *, is_override: bool
) -> None:
    operations = OutgoingCall.Operation
    feedback = {"feedback": decision.feedback}
    if verdict is ReviewVerdict.REJECT:
        _plan_call(decision, operations.REJECT, args=feedback)
        return
    batch = assignment.hit.unit.batch
    fee = batch.slot_cents(assignment.hit.max_assignments) - batch.reward_cents
    args = feedback | {"override": is_override}
    _plan_call(decision, operations.APPROVE, args=args, amount_cents=batch.reward_cents, fee_cents=fee)
    _plan_bonus(decision, _bonus_cents(assignment))


def _bonus_cents(assignment: Assignment) -> int:
    batch = assignment.hit.unit.batch
    if assignment.submission is None:
        return 0  # the bonus of an answer that our pages never saw is unknown
    return registry.get_kind(batch.kind).bonus_items(assignment.submission.answer) * batch.bonus_cents


def plan_missing_bonuses(*, batch: Batch) -> int:
    """Plan the bonuses of assignments that auto-approval or a script approved; return their number. Repeatable.

    The task's page promised them, even if a person meant to reject the work.
    """
    if not batch.bonus_cents:
        return 0
    unplanned = Assignment.objects.filter(
        hit__unit__batch=batch, status=AssignmentStatus.APPROVED, match=SubmissionMatch.MATCHED
    )
    approved = unplanned.exclude(decisions__verdict=ReviewVerdict.APPROVE).select_related(
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
                    verdict=ReviewVerdict.APPROVE,
                    overrides=assignment.decisions.filter(verdict=ReviewVerdict.REJECT).first(),
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
        _plan_call(decision, operation, args={"reason": _BONUS_REASON}, amount_cents=cents, fee_cents=fee)


def _plan_call(
    decision: Decision,
    operation: OutgoingCall.Operation,
    *,
    args: dict[str, Any],
    amount_cents: int = 0,
    fee_cents: int = 0,
) -> None:
    assignment = decision.assignment
    outbox.plan_call(
        operation=operation,
        batch=assignment.hit.unit.batch,
        # With the assignment's id, since another installation on the same account also numbers decisions from 1.
        key=(assignment.assignment_id, decision.pk, operation.value),
        decision=decision,
        assignment=assignment,
        args=args,
        amount_cents=amount_cents,
        fee_cents=fee_cents,
    )


def settle_decision(*, decision: Decision, marketplace: Marketplace) -> bool:
    """Make the decision's outstanding calls now, in order; return whether all are done. Repeatable.

    Raises:
        Refused: the marketplace refused one for good (done calls stay done), or the batch belongs to another
            marketplace.
    """
    refuse_other_environment_or_fees(decision.assignment.hit.unit.batch, marketplace)
    for call in decision.calls.exclude(state=CallState.DONE).order_by("pk"):
        if call.state == CallState.REFUSED or not outbox.settle_call(call=call, marketplace=marketplace):
            return False
    return True
