"""Steer a batch that stands: publish the rest, look at the marketplace, approve what waits, close it."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from hits.domain.crashpoints import crash_point
from hits.domain.jobs import turns
from hits.domain.states import (
    OPEN_CALL_STATES,
    UNPUBLISHED_HIT_STATES,
    AssignmentStatus,
    BatchState,
    CallState,
    HitState,
    JobState,
    Verdict,
)
from hits.models import Assignment, Batch, Decision, Hit, Job, OutgoingCall
from hits.mturk.environments import current
from hits.mturk.port import Failure, Marketplace, MarketplaceError
from hits.selectors.console import being_published, progress_of
from hits.selectors.publishing import STOPPED
from hits.selectors.review import queue
from hits.services import audit
from hits.services.collecting import collect
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.launching.launch import PUBLISH_TASK
from hits.services.money import postings
from hits.services.outbox import outbox
from hits.services.publishing.publish import cancel_unpublished
from hits.services.reviewing import review

SYNC_TASK = "hits.sync_batch"
APPROVE_TASK = "hits.approve_waiting"
CLOSE_TASK = "hits.close_batch"


@dataclass(frozen=True, slots=True)
class Approved:
    """What approving many at once came to. ``outstanding`` are decided, and not paid yet."""

    approved: int
    outstanding: int
    skipped: int


def resume_publish(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Queue the publication of what is not live yet; what is live stays live.

    Raises:
        Refused: the batch is closed. Conflict: a publication is under way.
    """
    if batch.state not in {BatchState.LAUNCHING, BatchState.LIVE}:
        raise Refused(f"{batch.name} is {batch.state}: it cannot be published")
    return jobs.enqueue(
        task=PUBLISH_TASK,
        title=f"Publish {batch.name}"[:160],
        project=batch.project,
        by=by,
        exclusive_key=f"publish:{batch.pk}",
        batch=batch.pk,
    )


def take_up_publications() -> int:
    """Queue the publications that a killed process left behind; return how many.

    Those whose lease ran out, since whoever held it died; and batches that are being launched, planned and in no
    process's hands, unless a refusal or a person ended their last job. Repeatable, and safe beside itself.
    """
    count, now = 0, timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    waiting = Hit.objects.filter(unit__batch=OuterRef("pk"), state__in=UNPUBLISHED_HIT_STATES)
    left = Batch.objects.filter(
        Q(state=BatchState.LAUNCHING) | Q(state=BatchState.LIVE, lease_until__lte=now),
        free,
        Exists(waiting),
        environment=current().name,
    )
    for batch in left.select_related("project"):
        latest = Job.objects.filter(exclusive_key=f"publish:{batch.pk}").order_by("-pk").first()
        died = batch.lease_until is not None and (latest is None or latest.created_at < batch.lease_until)
        if died or latest is None or latest.state == JobState.DONE:
            with suppress(Conflict):  # a job is at it
                resume_publish(batch=batch, by=None)
                count += 1
    return count


def request_sync(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Queue a look at the marketplace.

    Raises:
        Conflict: one is under way.
    """
    return jobs.enqueue(
        task=SYNC_TASK,
        title=f"Check the marketplace for {batch.name}"[:160],
        project=batch.project,
        by=by,
        exclusive_key=f"sync:{batch.pk}",
        batch=batch.pk,
    )


def request_approval(*, batch: Batch, last: int, by: AbstractBaseUser | None) -> Job:
    """Queue the approval of what waits up to the assignment row ``last``.

    Raises:
        Conflict: one is under way.
    """
    return jobs.enqueue(
        task=APPROVE_TASK,
        title=f"Approve what waits in {batch.name}"[:160],
        project=batch.project,
        by=by,
        exclusive_key=f"approve:{batch.pk}",
        batch=batch.pk,
        last=last,
        by_id=by.pk if by else None,
    )


def approve_waiting(
    *,
    batch: Batch,
    by: AbstractBaseUser | None,
    marketplace: Marketplace,
    last: int | None = None,
    feedback: str = "",
    progress: Progress | None = None,
) -> Approved:
    """Approve and pay what waits up to the row ``last``, so that nobody approves what came in unseen.

    Without ``last``: all that waits now.

    Each one is decided and settled by itself; a payment that fails stays outstanding and is repeated.

    Raises:
        Refused: the batch belongs to another marketplace; nothing was decided.
        TurnOver: in a worker; the rest waits for the next turn.
    """
    refuse_other_marketplace(batch, marketplace)
    waiting = queue(batch) if last is None else queue(batch).filter(pk__lte=last)
    ids = list(waiting.values_list("pk", flat=True))
    counts = progress.tally if progress is not None else {}
    for name in ("approved", "outstanding", "skipped"):
        counts.setdefault(name, 0)
    for number, pk in enumerate(ids, start=1):
        if number > 1:
            turns.rest()
        row = Assignment.objects.select_related("hit__unit__batch__project", "worker", "submission").get(
            pk=pk
        )
        try:
            decision = review.decide(assignment=row, verdict=Verdict.APPROVE, by=by, feedback=feedback)
        except Conflict:
            counts["skipped"] += 1  # a colleague or the marketplace's clock was faster
            continue
        counts["approved"] += 1
        try:
            counts["outstanding"] += not review.settle(decision=decision, marketplace=marketplace)
        except Refused:
            counts["outstanding"] += 1
        if progress is not None:
            progress.step(number, len(ids))
    return Approved(**counts)


@transaction.atomic
def retry_refused(*, decision: Decision, by: AbstractBaseUser | None) -> None:
    """Put the calls that the marketplace refused back into line, after their cause was mended.

    Raises:
        Conflict: nothing of this decision was refused.
    """
    changed = outbox.try_again(decision.calls.all())
    if not changed:
        raise Conflict("Nothing of this decision was refused.")
    audit.record(
        project=decision.assignment.hit.unit.batch.project,
        actor=by,
        action="payment.retry",
        subject=decision.assignment_id,
        calls=changed,
    )


@transaction.atomic
def request_close(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Stop offering the batch: nothing new can be accepted, work in hand may still be submitted.

    Raises:
        Conflict: it is closed already, or a job is publishing it.
    """
    batch.refresh_from_db(fields=["state"])
    if batch.state == BatchState.LAUNCHING and being_published([batch]):
        raise Conflict(f"{batch.name} is being published. Stop that job first.")
    stoppable = Batch.objects.filter(pk=batch.pk, state__in=[BatchState.LAUNCHING, BatchState.LIVE])
    if not stoppable.update(state=BatchState.CLOSING):
        raise Conflict(f"{batch.name} is not live, so there is nothing to stop.")
    audit.record(project=batch.project, actor=by, action=STOPPED, subject=batch.pk)
    return jobs.enqueue(
        task=CLOSE_TASK,
        title=f"Stop offering {batch.name}"[:160],
        project=batch.project,
        by=by,
        exclusive_key=f"close:{batch.pk}",
        batch=batch.pk,
    )


def expire_hits(*, batch: Batch, marketplace: Marketplace, progress: Progress | None = None) -> int:
    """Expire every HIT that is still offered and return how many; repeatable.

    What was never published is given up. Work in hand may still be submitted, and what is submitted is decided on
    before its HIT is disposed of.

    Raises:
        Refused: the marketplace refused some; the others are expired, and stay so.
    """
    refuse_other_marketplace(batch, marketplace)
    cancel_unpublished(batch=batch, marketplace=marketplace)
    _plan_expiries(batch, unless=OPEN_CALL_STATES)
    crash_point("expire.after_plan")
    calls = OutgoingCall.objects.filter(operation=OutgoingCall.Operation.EXPIRE)
    found = outbox.settle_outstanding(marketplace=marketplace, batch=batch, calls=calls, progress=progress)
    disposed = progress.place.get("disposed", 0) if progress is not None else 0
    finish_closing(batch=batch, marketplace=marketplace, after=disposed)
    left = found.refused + found.outstanding
    if left:
        raise Refused(
            f"{left} of {left + found.done} tasks could not be taken off the marketplace: "
            f"{_why_not_expired(batch)}; nobody's work is lost, press “Stop offering” again"
        )
    return found.done


@transaction.atomic
def _plan_expiries(batch: Batch, *, unless: Collection[CallState]) -> None:
    """Write a call for every HIT that is still offered and has none in a state of ``unless``; it is made later."""
    Batch.objects.select_for_update().get(pk=batch.pk)  # of two closers at once, one plans
    known = OutgoingCall.objects.filter(
        batch=batch, operation=OutgoingCall.Operation.EXPIRE, state__in=unless
    )
    live = Hit.objects.filter(unit__batch=batch, state=HitState.LIVE, expires_at__gt=timezone.now())
    number = OutgoingCall.objects.filter(batch=batch, operation=OutgoingCall.Operation.EXPIRE).count()
    for hit in live.exclude(pk__in=known.values("hit")):
        number += 1
        # A HIT may be prolonged and expired again, so the call has a number too.
        key = (hit.hit_id, "expire", number)
        outbox.plan(operation=OutgoingCall.Operation.EXPIRE, batch=batch, key=key, hit=hit)


def _why_not_expired(batch: Batch) -> str:
    calls = OutgoingCall.objects.filter(batch=batch, operation=OutgoingCall.Operation.EXPIRE).exclude(
        error=""
    )
    return calls.order_by("-pk").values_list("error", flat=True).first() or "another process is at it"


def finish_closing(*, batch: Batch, marketplace: Marketplace, after: int = 0) -> bool:
    """Dispose of what is finished, and close the batch once nothing is out or undecided; tell whether it did.

    Repeatable: a process that died in between is taken up where it stopped. ``after`` leaves out the HITs that an
    earlier turn came past.

    Raises:
        TurnOver: in a worker; its place says which HIT was ``disposed`` of last.
    """
    batch.refresh_from_db(fields=["state"])
    if batch.state != BatchState.CLOSING:
        return False
    hits = Hit.objects.filter(unit__batch=batch)
    # A publisher may have been making one while the batch was stopped.
    if hits.filter(state__in=UNPUBLISHED_HIT_STATES).exists():
        cancel_unpublished(batch=batch, marketplace=marketplace)
    _plan_expiries(batch, unless=[*OPEN_CALL_STATES, CallState.REFUSED])
    ended = hits.filter(state=HitState.LIVE, expires_at__lte=timezone.now())
    ended = ended.exclude(pk__in=_overrides_to_come(batch).values("assignment__hit"))
    for hit in ended.filter(pk__gt=after).order_by("pk").select_related("unit__batch__project"):
        _dispose(hit, marketplace)
        turns.rest(disposed=hit.pk)
    # What still stands there may be in somebody's hand although our page was never opened: it has to be looked at on.
    standing = hits.filter(state__in=[HitState.LIVE, *UNPUBLISHED_HIT_STATES]).exists()
    undecided = Assignment.objects.filter(hit__unit__batch=batch, status=AssignmentStatus.SUBMITTED).exists()
    if standing or undecided or progress_of([batch])[batch.pk].out:
        return False
    return bool(Batch.objects.filter(pk=batch.pk, state=BatchState.CLOSING).update(state=BatchState.CLOSED))


def _overrides_to_come(batch: Batch) -> "QuerySet[OutgoingCall]":
    """Return the overrides that a HIT has to wait for, since none is possible once it is disposed of.

    One that was refused, for instance without funds, can be tried again as long as overriding is possible at all.
    """
    possible = Q(assignment__submitted_at__gt=timezone.now() - review.OVERRIDE_WITHIN)
    calls = OutgoingCall.objects.filter(
        Q(state__in=OPEN_CALL_STATES) | Q(possible, state=CallState.REFUSED), batch=batch
    )
    return calls.filter(operation=OutgoingCall.Operation.APPROVE, args__override=True)


def _dispose(hit: Hit, marketplace: Marketplace) -> None:
    """Dispose of a HIT whose work is decided; what was held for slots that nobody took is released."""
    hit_id = str(hit.hit_id)
    try:
        collect.sync_hit(hit=hit, marketplace=marketplace)  # what the marketplace's clock approved counts too
    except MarketplaceError as error:
        if error.failure is Failure.NOT_FOUND:
            return  # a comparison says that it is lost, and a person gives it up
        raise
    try:
        marketplace.delete_hit(hit_id)
    except MarketplaceError as error:
        if error.failure is not Failure.WRONG_STATE or marketplace.get_hit(hit_id).status != "Disposed":
            return  # somebody still works on it, or a submission waits: a later look disposes of it
    crash_point("dispose.after_call")
    with transaction.atomic():
        postings.book_disposal(hit)
