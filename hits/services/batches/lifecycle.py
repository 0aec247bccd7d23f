"""Manage a launched batch: resume publishing, sync, approve waiting submissions, close."""

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
    ReviewVerdict,
)
from hits.models import Assignment, Batch, Decision, Hit, Job, OutgoingCall
from hits.mturk.environments import current_environment
from hits.mturk.port import Failure, Marketplace, MarketplaceError
from hits.selectors.console import progress_by_batch, publishing_batch_ids
from hits.selectors.publishing import CLOSE_ACTION
from hits.selectors.review import review_queue
from hits.services import audit
from hits.services.collecting import assignment_sync
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.launching.launch import PUBLISH_TASK
from hits.services.money import postings
from hits.services.outbox import outbox
from hits.services.publishing.publish import cancel_unpublished_hits
from hits.services.reviewing import review

SYNC_TASK = "hits.sync_batch"
APPROVE_TASK = "hits.approve_waiting"
CLOSE_TASK = "hits.close_batch"


@dataclass(frozen=True, slots=True)
class ApprovalCounts:
    """The counts of a bulk approval. ``outstanding`` are approved and not paid yet."""

    approved: int
    outstanding: int
    skipped: int


def request_publication(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Queue the publication of the HITs that are not live yet.

    Raises:
        Refused: the batch is closed. Conflict: a publication is running.
    """
    if batch.state not in {BatchState.LAUNCHING, BatchState.LIVE}:
        raise Refused(f"{batch.name} is {batch.state}: it cannot be published")
    return jobs.enqueue_for_batch(
        batch=batch, task=PUBLISH_TASK, title=f"Publish {batch.name}", key="publish", by=by
    )


def resume_orphaned_publications() -> int:
    """Queue the publications that a killed process left behind; return their number. Repeatable, safe in parallel.

    These are batches with an expired lease, and launching batches without a process, unless a refusal or a person
    ended their last job.
    """
    count, now = 0, timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    waiting = Hit.objects.filter(unit__batch=OuterRef("pk"), state__in=UNPUBLISHED_HIT_STATES)
    orphaned = Batch.objects.filter(
        Q(state=BatchState.LAUNCHING) | Q(state=BatchState.LIVE, lease_until__lte=now),
        free,
        Exists(waiting),
        environment=current_environment().name,
    )
    for batch in orphaned.select_related("project"):
        latest = Job.objects.filter(exclusive_key=f"publish:{batch.pk}").order_by("-pk").first()
        has_died = batch.lease_until is not None and (latest is None or latest.created_at < batch.lease_until)
        if has_died or latest is None or latest.state == JobState.DONE:
            with suppress(Conflict):  # a job is running
                request_publication(batch=batch, by=None)
                count += 1
    return count


def request_sync(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Queue a sync with the marketplace.

    Raises:
        Conflict: one is running.
    """
    return jobs.enqueue_for_batch(
        batch=batch, task=SYNC_TASK, title=f"Check the marketplace for {batch.name}", key="sync", by=by
    )


def request_approval_of_waiting(*, batch: Batch, last_pk: int, by: AbstractBaseUser | None) -> Job:
    """Queue the approval of the waiting assignments up to the row ``last_pk``.

    Raises:
        Conflict: one is running.
    """
    return jobs.enqueue_for_batch(
        batch=batch,
        task=APPROVE_TASK,
        title=f"Approve waiting submissions of {batch.name}",
        key="approve",
        by=by,
        last=last_pk,
        by_id=by.pk if by else None,
    )


def approve_waiting_assignments(
    *,
    batch: Batch,
    by: AbstractBaseUser | None,
    marketplace: Marketplace,
    last_pk: int | None = None,
    feedback: str = "",
    progress: Progress | None = None,
) -> ApprovalCounts:
    """Approve and pay the waiting assignments up to the row ``last_pk``; without ``last_pk``, all that wait now.

    ``last_pk`` leaves out what arrived after a person looked. Each assignment is decided and settled separately; a
    failed payment stays outstanding and is repeated.

    Raises:
        Refused: the batch belongs to another marketplace; nothing was decided.
        TurnOver: in a worker process; the rest waits for the next turn.
    """
    refuse_other_environment_or_fees(batch, marketplace)
    waiting = review_queue(batch) if last_pk is None else review_queue(batch).filter(pk__lte=last_pk)
    ids = list(waiting.values_list("pk", flat=True))
    counts = progress.counts if progress is not None else {}
    for name in ("approved", "outstanding", "skipped"):
        counts.setdefault(name, 0)
    for number, pk in enumerate(ids, start=1):
        if number > 1:
            turns.end_turn_if_over()
        row = Assignment.objects.select_related("hit__unit__batch__project", "worker", "submission").get(
            pk=pk
        )
        try:
            decision = review.decide_assignment(
                assignment=row, verdict=ReviewVerdict.APPROVE, by=by, feedback=feedback
            )
        except Conflict:
            counts["skipped"] += 1  # a colleague or auto-approval was faster
            continue
        counts["approved"] += 1
        try:
            counts["outstanding"] += not review.settle_decision(decision=decision, marketplace=marketplace)
        except Refused:
            counts["outstanding"] += 1
        if progress is not None:
            progress.advance_in_turn(number, len(ids))
    return ApprovalCounts(**counts)


@transaction.atomic
def retry_refused_calls(*, decision: Decision, by: AbstractBaseUser | None) -> None:
    """Plan the refused calls of a decision again, after their cause was fixed.

    Raises:
        Conflict: no call of this decision was refused.
    """
    changed = outbox.retry_refused_calls(decision.calls.all())
    if not changed:
        raise Conflict("No payment of this decision was refused.")
    audit.record(
        project=decision.assignment.hit.unit.batch.project,
        actor=by,
        action="payment.retry",
        subject=decision.assignment_id,
        calls=changed,
    )


@transaction.atomic
def request_close(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Stop offering the batch: no worker can accept its tasks, and accepted tasks may still be submitted.

    Raises:
        Conflict: it is not live, or a job is publishing it.
    """
    batch.refresh_from_db(fields=["state"])
    if batch.state == BatchState.LAUNCHING and publishing_batch_ids([batch]):
        raise Conflict(f"{batch.name} is being published: cancel the publishing job first.")
    stoppable = Batch.objects.filter(pk=batch.pk, state__in=[BatchState.LAUNCHING, BatchState.LIVE])
    if not stoppable.update(state=BatchState.CLOSING):
        raise Conflict(f"{batch.name} is not live.")
    audit.record(project=batch.project, actor=by, action=CLOSE_ACTION, subject=batch.pk)
    return jobs.enqueue_for_batch(
        batch=batch, task=CLOSE_TASK, title=f"Stop offering {batch.name}", key="close", by=by
    )


def expire_hits(*, batch: Batch, marketplace: Marketplace, progress: Progress | None = None) -> int:
    """Expire every offered HIT; return their number. Repeatable.

    Unpublished HITs are cancelled. Accepted tasks may still be submitted; a HIT is disposed of after all of its
    submissions are decided.

    Raises:
        Refused: the marketplace refused some; the others stay expired.
    """
    refuse_other_environment_or_fees(batch, marketplace)
    cancel_unpublished_hits(batch=batch, marketplace=marketplace)
    _plan_expiries(batch, skip_states=OPEN_CALL_STATES)
    crash_point("expire.after_plan")
    calls = OutgoingCall.objects.filter(operation=OutgoingCall.Operation.EXPIRE)
    settled = outbox.settle_outstanding_calls(
        marketplace=marketplace, batch=batch, calls=calls, progress=progress
    )
    disposed = progress.resume_point.get("disposed", 0) if progress is not None else 0
    dispose_hits_and_close_if_done(batch=batch, marketplace=marketplace, after_pk=disposed)
    unsettled = settled.refused + settled.outstanding
    if unsettled:
        raise Refused(
            f"{unsettled} of {unsettled + settled.done} tasks could not be taken off the marketplace: "
            f"{_last_expiry_error(batch)}; nobody's work is lost; press “Stop offering” again"
        )
    return settled.done


@transaction.atomic
def _plan_expiries(batch: Batch, *, skip_states: Collection[CallState]) -> None:
    """Plan an expiry for every offered HIT that has none in one of ``skip_states``."""
    Batch.objects.select_for_update().get(pk=batch.pk)  # one of two simultaneous closers plans
    known = OutgoingCall.objects.filter(
        batch=batch, operation=OutgoingCall.Operation.EXPIRE, state__in=skip_states
    )
    live = Hit.objects.filter(unit__batch=batch, state=HitState.LIVE, expires_at__gt=timezone.now())
    number = OutgoingCall.objects.filter(batch=batch, operation=OutgoingCall.Operation.EXPIRE).count()
    for hit in live.exclude(pk__in=known.values("hit")):
        number += 1
        # A HIT may be prolonged and expired again, so the key has a number too.
        key = (hit.hit_id, "expire", number)
        outbox.plan_call(operation=OutgoingCall.Operation.EXPIRE, batch=batch, key=key, hit=hit)


def _last_expiry_error(batch: Batch) -> str:
    calls = OutgoingCall.objects.filter(batch=batch, operation=OutgoingCall.Operation.EXPIRE).exclude(
        error=""
    )
    return (
        calls.order_by("-pk").values_list("error", flat=True).first() or "another process is making the call"
    )


def dispose_hits_and_close_if_done(*, batch: Batch, marketplace: Marketplace, after_pk: int = 0) -> bool:
    """Dispose of finished HITs, and close the batch if nothing is open or undecided; return whether it closed.

    Repeatable: it resumes where a dead process stopped. ``after_pk`` skips the HITs of earlier turns.

    Raises:
        TurnOver: in a worker process; its resume point names the last HIT ``disposed`` of.
    """
    batch.refresh_from_db(fields=["state"])
    if batch.state != BatchState.CLOSING:
        return False
    hits = Hit.objects.filter(unit__batch=batch)
    # A publisher may have created one while the batch was stopped.
    if hits.filter(state__in=UNPUBLISHED_HIT_STATES).exists():
        cancel_unpublished_hits(batch=batch, marketplace=marketplace)
    _plan_expiries(batch, skip_states=[*OPEN_CALL_STATES, CallState.REFUSED])
    ended = hits.filter(state=HitState.LIVE, expires_at__lte=timezone.now())
    ended = ended.exclude(pk__in=_pending_overrides(batch).values("assignment__hit"))
    for hit in ended.filter(pk__gt=after_pk).order_by("pk").select_related("unit__batch__project"):
        _dispose_hit(hit, marketplace)
        turns.end_turn_if_over(disposed=hit.pk)
    # A worker may have accepted a live HIT without opening our page, so it has to be synced further.
    has_open_hits = hits.filter(state__in=[HitState.LIVE, *UNPUBLISHED_HIT_STATES]).exists()
    has_undecided = Assignment.objects.filter(
        hit__unit__batch=batch, status=AssignmentStatus.SUBMITTED
    ).exists()
    if has_open_hits or has_undecided or progress_by_batch([batch])[batch.pk].in_progress:
        return False
    return bool(Batch.objects.filter(pk=batch.pk, state=BatchState.CLOSING).update(state=BatchState.CLOSED))


def _pending_overrides(batch: Batch) -> "QuerySet[OutgoingCall]":
    """Return the overrides that have to precede the disposal of their HITs.

    A refused override, for example without funds, can be retried within the override period.
    """
    possible = Q(assignment__submitted_at__gt=timezone.now() - review.OVERRIDE_PERIOD)
    calls = OutgoingCall.objects.filter(
        Q(state__in=OPEN_CALL_STATES) | Q(possible, state=CallState.REFUSED), batch=batch
    )
    return calls.filter(operation=OutgoingCall.Operation.APPROVE, args__override=True)


def _dispose_hit(hit: Hit, marketplace: Marketplace) -> None:
    """Dispose of a HIT whose work is decided, and release the hold of unused assignments."""
    hit_id = str(hit.hit_id)
    try:
        assignment_sync.sync_hit(hit=hit, marketplace=marketplace)  # auto-approvals count too
    except MarketplaceError as error:
        if error.failure is Failure.NOT_FOUND:
            return  # a comparison reports it as missing, and a person writes it off
        raise
    try:
        marketplace.delete_hit(hit_id)
    except MarketplaceError as error:
        if error.failure is not Failure.WRONG_STATE or marketplace.get_hit(hit_id).status != "Disposed":
            return  # a worker still has it, or a submission waits: a later check disposes of it
    crash_point("dispose.after_call")
    with transaction.atomic():
        postings.post_disposal(hit)
