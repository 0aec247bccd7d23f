"""Lift a batch's underpaid work to the target: people decide, the outbox pays each gap once.

The decision, one planned bonus for each submission under the target and the job that pays them are committed
together. A call that was refused, or withdrawn because somebody stopped the job, is over: the next proposal offers
the same cents again, so it is never put back into line.
"""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.money.usd import format_dollars
from hits.domain.states import CallState, JobState
from hits.models import Assignment, Batch, Job, OutgoingCall, Project, TopUp
from hits.mturk.port import Marketplace, MarketplaceError
from hits.selectors.money.top_ups import Proposal, proposal_for
from hits.services import audit
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Cancelled, Progress
from hits.services.money import budget
from hits.services.outbox import outbox
from hits.services.outbox.outbox import Settled

TASK = "hits.settle_top_up"
MOST_TARGET_CENTS = 100_000  # a thousand dollars an hour is a slip of the finger
STOPPED = "Stopped before it was paid."


def top_up_batch(
    *,
    batch: Batch,
    by: AbstractBaseUser | None,
    marketplace: Marketplace,
    once: str = "",
    seen_cents: int | None = None,
    confirmed_cents: int | None = None,
    target_cents_per_hour: int | None = None,
) -> tuple[TopUp, Job]:
    """Write down a top-up with its calls, and queue their payment. Nothing is paid yet: see ``settle_top_up``.

    ``once`` names the wish: a second press of the same button gets the first one's top-up. ``seen_cents`` is the sum
    with fees that the person was shown, ``confirmed_cents`` the one that they typed. The target is the project's
    unless one is named.

    Raises:
        Refused: nothing is under the target, another marketplace is set, over a cap, or short of funds; a sum above
            the project's threshold was not confirmed.
        Conflict: the sum is another by now, or an earlier top-up of the batch is being paid.
    """
    refuse_other_marketplace(batch, marketplace)
    _check_target(target_cents_per_hour)
    available = _available(marketplace)
    with transaction.atomic():
        # PostgreSQL: one plan at a time in a project. (SQLite: always so.)
        project = Project.objects.select_for_update().get(pk=batch.project_id)
        known = topped_up_before(batch=batch, once=once)
        if known is not None:
            return known, Job.objects.filter(task=TASK, args__top_up=known.pk).latest("pk")
        batch = Batch.objects.select_related("project").get(pk=batch.pk)  # target and caps as they are now
        proposal = proposal_for(batch, target_cents_per_hour)
        _check_sum(proposal, seen_cents)
        budget.check_confirmation(
            project=project,
            environment=marketplace.environment,
            most_cents=proposal.total_cents,
            confirmed_cents=confirmed_cents,
        )
        budget.check_plan(project=project, batch=batch, more_cents=proposal.total_cents)
        if available is not None:
            budget.check_funds(available_cents=available, needed_cents=proposal.total_cents)
        top_up = _write(batch, proposal, by, once)
        job = jobs.enqueue(
            task=TASK,
            title=f"Top up pay in {batch.name}"[:160],
            project=project,
            by=by,
            exclusive_key=f"top-up:{batch.pk}",
            batch=batch.pk,
            top_up=top_up.pk,
        )
    return top_up, job


def topped_up_before(*, batch: Batch, once: str) -> TopUp | None:
    """Return the top-up that this very wish made already."""
    return TopUp.objects.filter(batch=batch, once=once).first() if once else None


def settle_top_up(*, top_up: TopUp, marketplace: Marketplace, progress: Progress | None = None) -> Settled:
    """Pay what is planned, one by one. Repeatable: what is paid stays paid once.

    Raises:
        Cancelled: somebody stopped the job; what was not tried yet is withdrawn.
    """
    calls = OutgoingCall.objects.filter(top_up=top_up)
    try:
        return outbox.settle_outstanding(marketplace=marketplace, calls=calls, progress=progress)
    except Cancelled:
        if progress is not None:
            withdraw_if_stopped(job=progress.job)
        raise


def withdraw_if_stopped(*, job: Job) -> int:
    """Give up what a stopped job has not tried to pay yet, and return how many calls; repeatable.

    Otherwise the sweep that settles what processes left behind would pay it after all.
    """
    job.refresh_from_db(fields=["state", "cancel_requested"])
    stopped = job.task == TASK and (job.cancel_requested or job.state == JobState.CANCELLED)
    if not stopped:
        return 0
    untried = OutgoingCall.objects.filter(
        top_up=job.args["top_up"], state=CallState.PLANNED, attempt_at__isnull=True
    )
    return untried.update(state=CallState.REFUSED, error=STOPPED)


def _available(marketplace: Marketplace) -> int | None:
    try:
        return marketplace.balance().available_cents
    except MarketplaceError as error:
        if error.retry:
            return None  # it refuses each bonus without funds itself
        raise Refused(f"funds: the marketplace does not say what the account holds: {error}") from error


def _check_target(cents: int | None) -> None:
    if cents is not None and not 1 <= cents <= MOST_TARGET_CENTS:
        raise Refused(
            f"target: use {format_dollars(1)} to {format_dollars(MOST_TARGET_CENTS)} an hour of active time"
        )


def _check_sum(proposal: Proposal, seen: int | None) -> None:
    total = proposal.total_cents
    if not proposal.gaps:
        raise Refused(
            "Nothing to top up: every approved submission with a measured time reaches "
            f"{format_dollars(proposal.target_cents_per_hour)} an hour"
        )
    if seen is not None and seen != total:
        raise Conflict(
            f"the top-up comes to {format_dollars(total)} with fees now, not to {format_dollars(seen)}; "
            "look at it again and confirm that sum"
        )


def _write(batch: Batch, proposal: Proposal, by: AbstractBaseUser | None, once: str) -> TopUp:
    reason = f"Top-up to {format_dollars(proposal.target_cents_per_hour)} for an hour of active time."
    top_up = TopUp.objects.create(
        batch=batch,
        target_cents_per_hour=proposal.target_cents_per_hour,
        cents=proposal.cents,
        fee_cents=proposal.fee_cents,
        submissions=proposal.submissions,
        reason=reason,
        once=once,
        decided_by_id=by.pk if by else None,
    )
    rows = Assignment.objects.only("pk").in_bulk([gap.assignment for gap in proposal.gaps])
    for gap in proposal.gaps:
        outbox.plan(
            operation=OutgoingCall.Operation.BONUS,
            batch=batch,
            key=(gap.assignment_id, "top-up", top_up.pk),
            top_up=top_up,
            assignment=rows[gap.assignment],
            args={"reason": reason},
            amount_cents=gap.cents,
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
