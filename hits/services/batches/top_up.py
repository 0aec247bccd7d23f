"""Raise a batch's underpaid work to the target: a person decides, and the outbox pays each gap once.

One transaction commits the decision, a planned bonus for each submission under the target, and the job that pays
them. A refused or stopped call is never retried, since the next proposal offers the same cents again.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.money.usd import format_dollars
from hits.domain.states import CallState, JobState
from hits.models import Assignment, Batch, Job, OutgoingCall, Project, TopUp
from hits.mturk.port import Marketplace
from hits.selectors.money.top_ups import TopUpProposal, propose_top_up
from hits.services import audit
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Cancelled, Progress
from hits.services.money import budget
from hits.services.money.budget import MAX_TARGET_CENTS_PER_HOUR
from hits.services.outbox import outbox
from hits.services.outbox.outbox import SettleCounts

TASK = "hits.settle_top_up"
STOPPED_MESSAGE = "Stopped before it was paid."


def top_up_batch(
    *,
    batch: Batch,
    by: AbstractBaseUser | None,
    marketplace: Marketplace,
    idempotency_key: str = "",
    seen_cents: int | None = None,
    confirmed_cents: int | None = None,
    target_cents_per_hour: int | None = None,
) -> tuple[TopUp, Job]:
    """Write a top-up with its calls and queue their payment; ``settle_top_up`` pays.

    A second call with the same ``idempotency_key`` returns the first top-up. ``seen_cents`` is the shown sum with
    fees, ``confirmed_cents`` the typed one. The default target is the project's.

    Raises:
        Refused: nothing is under the target, another marketplace is set, over a cap, too little funds, or an
            unconfirmed sum above the project's threshold.
        Conflict: the sum has changed, or an earlier top-up of the batch is being paid.
    """
    refuse_other_environment_or_fees(batch, marketplace)
    _check_target(target_cents_per_hour)
    available = budget.available_cents(marketplace)
    with transaction.atomic():
        # PostgreSQL: one plan at a time per project. (SQLite always does so.)
        project = Project.objects.select_for_update().get(pk=batch.project_id)
        earlier = find_top_up(batch=batch, idempotency_key=idempotency_key)
        if earlier is not None:
            return earlier, Job.objects.filter(task=TASK, args__top_up=earlier.pk).latest("pk")
        batch = Batch.objects.select_related("project").get(pk=batch.pk)  # current target and caps
        proposal = propose_top_up(batch, target_cents_per_hour)
        _check_seen_total(proposal, seen_cents)
        budget.check_confirmation(
            project=project,
            environment=marketplace.environment,
            max_cents=proposal.total_cents,
            confirmed_cents=confirmed_cents,
        )
        budget.check_caps(project=project, batch=batch, more_cents=proposal.total_cents)
        if available is not None:
            budget.check_funds(available_cents=available, needed_cents=proposal.total_cents)
        top_up = _write_top_up(batch, proposal, by, idempotency_key)
        job = jobs.enqueue_for_batch(
            batch=batch, task=TASK, title=f"Top up pay in {batch.name}", key="top-up", by=by, top_up=top_up.pk
        )
    return top_up, job


def find_top_up(*, batch: Batch, idempotency_key: str) -> TopUp | None:
    """Return the earlier top-up with this key."""
    if not idempotency_key:
        return None
    return TopUp.objects.filter(batch=batch, idempotency_key=idempotency_key).first()


def settle_top_up(
    *, top_up: TopUp, marketplace: Marketplace, progress: Progress | None = None
) -> SettleCounts:
    """Pay the planned bonuses one by one. Repeatable: each is paid once.

    Raises:
        Cancelled: somebody stopped the job; untried calls become refused.
    """
    calls = OutgoingCall.objects.filter(top_up=top_up)
    try:
        return outbox.settle_outstanding_calls(marketplace=marketplace, calls=calls, progress=progress)
    except Cancelled:
        if progress is not None:
            refuse_calls_if_stopped(job=progress.job)
        raise


def refuse_calls_if_stopped(*, job: Job) -> int:
    """Refuse the untried calls of a stopped job; return their number. Repeatable.

    Otherwise the sweep would pay these orphaned calls.
    """
    job.refresh_from_db(fields=["state", "cancel_requested"])
    is_stopped = job.task == TASK and (job.cancel_requested or job.state == JobState.CANCELLED)
    if not is_stopped:
        return 0
    untried = OutgoingCall.objects.filter(
        top_up=job.args["top_up"], state=CallState.PLANNED, attempt_at__isnull=True
    )
    return untried.update(state=CallState.REFUSED, error=STOPPED_MESSAGE)


def _check_target(cents: int | None) -> None:
    if cents is not None and not 1 <= cents <= MAX_TARGET_CENTS_PER_HOUR:
        raise Refused(
            f"target: use {format_dollars(1)} to {format_dollars(MAX_TARGET_CENTS_PER_HOUR)} per hour of active time"
        )


def _check_seen_total(proposal: TopUpProposal, seen_cents: int | None) -> None:
    total_cents = proposal.total_cents
    if not proposal.underpaid:
        raise Refused(
            "Nothing to top up: each approved submission with a measured time reaches "
            f"{format_dollars(proposal.target_cents_per_hour)} an hour"
        )
    if seen_cents is not None and seen_cents != total_cents:
        raise Conflict(
            f"the top-up costs {format_dollars(total_cents)} with fees now, not {format_dollars(seen_cents)}; "
            "check the new sum and confirm it"
        )


def _write_top_up(
    batch: Batch, proposal: TopUpProposal, by: AbstractBaseUser | None, idempotency_key: str
) -> TopUp:
    reason = f"Top-up to {format_dollars(proposal.target_cents_per_hour)} for an hour of active time."
    top_up = TopUp.objects.create(
        batch=batch,
        target_cents_per_hour=proposal.target_cents_per_hour,
        cents=proposal.cents,
        fee_cents=proposal.fee_cents,
        submissions=proposal.submission_count,
        reason=reason,
        idempotency_key=idempotency_key,
        decided_by_id=by.pk if by else None,
    )
    rows = Assignment.objects.only("pk").in_bulk([gap.assignment for gap in proposal.underpaid])
    for gap in proposal.underpaid:
        outbox.plan_call(
            operation=OutgoingCall.Operation.BONUS,
            batch=batch,
            key=(gap.assignment_id, "top-up", top_up.pk),
            top_up=top_up,
            assignment=rows[gap.assignment],
            args={"reason": reason},
            amount_cents=gap.shortfall_cents,
            fee_cents=gap.fee_cents,
        )
    audit.record(
        project=batch.project,
        actor=by,
        action="batch.top_up",
        subject=batch.pk,
        cents=top_up.cents,
        fee_cents=top_up.fee_cents,
        submissions=top_up.submissions,
        target_cents_per_hour=top_up.target_cents_per_hour,
    )
    return top_up
