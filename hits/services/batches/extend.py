"""Give a live batch more opinions for each unit, or more time, after its launch.

A HIT grows to nine assignments at most, since ten and more cost double fees and a HIT made with fewer can never get
there; what is left comes as further HITs of the unit. The wish, its calls and its new HITs are written in one
transaction; a job carries them out, and our ledger holds what the marketplace holds, call by call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from hits import registry
from hits.domain.crashpoints import crash_point
from hits.domain.money.costs import Estimate
from hits.domain.states import UNPUBLISHED_HIT_STATES, BatchState, CallState, HitState, JobState
from hits.domain.units.redundancy import MOST_PER_HIT, parts
from hits.models import Batch, Extension, Hit, Job, OutgoingCall, Project, Unit
from hits.mturk.environments import current
from hits.mturk.port import Marketplace
from hits.services import audit
from hits.services.environment import refuse_other_environment
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Cancelled, Progress
from hits.services.launching.request_token import planned_hit
from hits.services.launching.terms import MAX_OPINIONS
from hits.services.money import budget
from hits.services.outbox import outbox
from hits.services.publishing.publish import CHECK_EVERY, publish_batch

TASK = "hits.extend_batch"
MOST_SECONDS = 31_536_000  # a year, the most that the API moves an end by
LEAST_SECONDS = 60
STOPPED = "Somebody stopped it before it was carried out."
Operation = OutgoingCall.Operation


@dataclass(frozen=True, slots=True)
class Growth:
    """What more opinions make of one unit's HITs: assignments on top by HIT, and the sizes of new HITs."""

    more: tuple[tuple[Hit, int], ...]
    new_parts: tuple[int, ...]
    next_part: int


def estimate_extension(batch: Batch, more_opinions: int) -> Estimate:
    """Return what ``more_opinions`` more for each unit can cost. More time alone costs nothing."""
    units = batch.units.count()
    assignments = units * more_opinions
    held = _held_cents(batch, more_opinions)
    items = assignments * registry.get(batch.kind).max_bonus_items if batch.bonus_cents else 0
    most_bonus = batch.bonus_cents * registry.get(batch.kind).max_bonus_items
    return Estimate(
        hits=units,
        assignments=assignments,
        reward_cents=assignments * batch.reward_cents,
        fee_cents=held - assignments * batch.reward_cents,
        bonus_cents=items * batch.bonus_cents,
        bonus_fee_cents=batch.fees.bonus_fee_cents(most_bonus) * assignments if items else 0,
    )


def _held_cents(batch: Batch, more_opinions: int) -> int:
    """Return what is held for the assignments on top: a HIT's fee depends on how many it was made with."""
    if not more_opinions:
        return 0
    cents = 0
    for unit in batch.units.prefetch_related("hits"):
        grown = growth(list(unit.hits.all()), more_opinions, many_from=batch.fees.many_from)
        cents += sum(more * batch.slot_cents(hit.max_assignments) for hit, more in grown.more)
        cents += sum(slots * batch.slot_cents(slots) for slots in grown.new_parts)
    return cents


def extend_batch(
    *,
    batch: Batch,
    more_opinions: int = 0,
    more_seconds: int = 0,
    by: AbstractBaseUser | None,
    once: str = "",
    confirmed_cents: int | None = None,
    available_cents: int | None = None,
) -> tuple[Extension, Job]:
    """Write down an extension with its calls and new HITs, and queue it. Nothing leaves yet: see ``carry_out``.

    ``once`` names the wish: a second press gets the first one's extension. ``available_cents`` is what the account
    has, asked just before; ``confirmed_cents`` the sum that a person typed.

    Raises:
        Refused: nothing to extend, too much of it, over a cap, short of funds, an unconfirmed sum,
            another marketplace.
        Conflict: the batch is not live, or an earlier extension of it is not carried out.
    """
    _check_wish(batch, more_opinions, more_seconds)
    with transaction.atomic():
        # PostgreSQL: one plan at a time in a project. (SQLite: always so.)
        project = Project.objects.select_for_update().get(pk=batch.project_id)
        known = Extension.objects.filter(batch=batch, once=once).first() if once else None
        if known is not None:
            return known, Job.objects.filter(task=TASK, args__batch=batch.pk).latest("pk")
        batch.refresh_from_db()
        _check_state(batch, more_opinions, more_seconds)
        cost = estimate_extension(batch, more_opinions)
        budget.check_confirmation(
            project=project,
            environment=current(),
            most_cents=cost.most_cents,
            confirmed_cents=confirmed_cents,
        )
        budget.check_plan(project=project, batch=batch, more_cents=cost.most_cents)
        if available_cents is not None:
            budget.check_funds(available_cents=available_cents, needed_cents=cost.held_cents)
        extension = _write(batch, more_opinions, more_seconds, cost, by, once)
        job = _queue(batch, extension, by)
    crash_point("extend.after_plan")
    return extension, job


def carry_out(*, batch: Batch, marketplace: Marketplace, progress: Progress | None = None) -> int:
    """Make the calls of the batch's extensions, and publish its new HITs; return how many calls are done. Repeatable.

    Caps and funds are looked at before the first call and every hundred.

    Raises:
        Refused: a cap is reached, or the marketplace refused some; what is extended stays extended.
        Cancelled: somebody stopped the job. Then, too, what was not tried yet waits until somebody goes on.
    """
    calls = OutgoingCall.objects.filter(extension__isnull=False)

    def look(number: int) -> None:
        if number % CHECK_EVERY == 1:
            budget.check_batch(batch=batch, marketplace=marketplace)

    try:
        found = outbox.settle_outstanding(
            marketplace=marketplace, batch=batch, calls=calls, progress=progress, before_each=look
        )
    except Cancelled:
        _withdraw(batch, STOPPED)
        raise
    except Refused as error:
        _withdraw(batch, str(error))
        raise
    publish_batch(batch=batch, marketplace=marketplace, progress=progress)
    left = not_carried_out(batch)
    if left:
        why = next((call.error for call in left if call.error), "another process is at it")
        raise Refused(f"{len(left)} tasks could not be extended: {why}")
    return found.done


def withdraw_if_stopped(*, job: Job) -> int:
    """Set aside what an extension's job that was stopped before it began has not tried, and return how many calls."""
    job.refresh_from_db(fields=["state"])
    if job.task != TASK or job.state != JobState.CANCELLED:
        return 0
    return _withdraw(Batch.objects.get(pk=job.args["batch"]), STOPPED)


def _withdraw(batch: Batch, why: str) -> int:
    untried = OutgoingCall.objects.filter(
        batch=batch, extension__isnull=False, state=CallState.PLANNED, attempt_at__isnull=True
    )
    return untried.update(state=CallState.REFUSED, error=why[:400])


def extend_again(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Put refused or stopped calls of the batch's extensions back into line, and queue them.

    Raises:
        Conflict: there are none, or a job is at it.
    """
    with transaction.atomic():
        if not outbox.try_again(OutgoingCall.objects.filter(batch=batch, extension__isnull=False)):
            raise Conflict("No extension of this batch was refused.")
        return _queue(batch, batch.extensions.latest("pk"), by)


def not_carried_out(batch: Batch) -> list[OutgoingCall]:
    """Return the calls of the batch's extensions that are not done, refused ones included; one query."""
    rows = OutgoingCall.objects.filter(batch=batch, extension__isnull=False).exclude(state=CallState.DONE)
    return list(rows.order_by("pk"))


def growth(hits: Sequence[Hit], more: int, *, many_from: int = MOST_PER_HIT + 1) -> Growth:
    """Return how a unit's HITs take ``more`` assignments: those that stand grow to nine, new ones take the rest.

    None grows to ``many_from``, where the fee of those that it was made with would be another one.
    """
    grown = []
    for hit in sorted(hits, key=lambda hit: hit.part):
        most = MOST_PER_HIT if hit.max_assignments >= many_from else min(MOST_PER_HIT, many_from - 1)
        room = most - hit.max_assignments if hit.state == HitState.LIVE else 0
        added = min(max(room, 0), more)
        if added:
            grown.append((hit, added))
            more -= added
    next_part = max((hit.part for hit in hits), default=0) + 1
    return Growth(tuple(grown), tuple(parts(more)) if more else (), next_part)


def _check_wish(batch: Batch, more_opinions: int, more_seconds: int) -> None:
    refuse_other_environment(batch, current())
    if more_opinions < 0 or more_seconds < 0 or not (more_opinions or more_seconds):
        raise Refused("extension: ask for more opinions, for more days, or for both")
    if more_seconds and not LEAST_SECONDS <= more_seconds <= MOST_SECONDS:
        raise Refused("days: extend by a minute at least, and by a year at most")


def _check_state(batch: Batch, more_opinions: int, more_seconds: int) -> None:
    if batch.state != BatchState.LIVE:
        raise Conflict(f"{batch.name} is {batch.state}: only a live batch can be extended")
    rows = Hit.objects.filter(unit__batch=batch)
    if rows.filter(state__in=UNPUBLISHED_HIT_STATES).exists():
        raise Conflict(f"{batch.name} is not published to its end yet: resume publishing first")
    if not_carried_out(batch):
        raise Conflict("An earlier extension is not carried out yet: wait for it, or try it again first")
    if batch.opinions + more_opinions > MAX_OPINIONS:
        room = MAX_OPINIONS - batch.opinions
        raise Refused(f"opinions: a unit gets {MAX_OPINIONS} at most, so ask for {room} more at most")
    ended = rows.filter(state=HitState.LIVE, expires_at__lte=timezone.now()).first()
    if more_opinions and not more_seconds and ended is not None:
        raise Refused(f"days: the offer ended on {ended.expires_at:%d %b %Y}, so add days too")


def _write(
    batch: Batch,
    more_opinions: int,
    more_seconds: int,
    cost: Estimate,
    by: AbstractBaseUser | None,
    once: str,
) -> Extension:
    extension = Extension.objects.create(
        batch=batch,
        more_opinions=more_opinions,
        more_seconds=more_seconds,
        estimate_cents=cost.most_cents,
        once=once,
        extended_by_id=by.pk if by else None,
    )
    if more_seconds:
        _plan_prolonging(batch, extension)
    if more_opinions:
        for unit in batch.units.prefetch_related("hits"):
            _plan_growth(batch, extension, unit)
        opinions = batch.opinions + more_opinions
        Batch.objects.filter(pk=batch.pk).update(
            opinions=opinions, assignments_per_hit=max(batch.assignments_per_hit, *parts(opinions))
        )
    audit.record(
        project=batch.project,
        actor=by,
        action="batch.extend",
        subject=batch.pk,
        more_opinions=more_opinions,
        more_seconds=more_seconds,
        most_cents=cost.most_cents,
    )
    return extension


def _plan_prolonging(batch: Batch, extension: Extension) -> None:
    more, now = timedelta(seconds=extension.more_seconds), timezone.now()
    for hit in Hit.objects.filter(unit__batch=batch, state=HitState.LIVE):
        end = max(hit.expires_at or now, now) + more
        _plan(extension, hit, Operation.PROLONG, {"expires_at": _whole_second(end).isoformat()})


def _plan_growth(batch: Batch, extension: Extension, unit: Unit) -> None:
    hits = list(unit.hits.all())
    grown = growth(hits, extension.more_opinions, many_from=batch.fees.many_from)
    for hit, more in grown.more:
        _plan(extension, hit, Operation.EXTEND, {"more": more, "total": hit.max_assignments + more})
    Hit.objects.bulk_create(
        planned_hit(batch, unit, part, slots)
        for part, slots in enumerate(grown.new_parts, start=grown.next_part)
    )


def _plan(
    extension: Extension, hit: Hit, operation: OutgoingCall.Operation, args: dict[str, int | str]
) -> None:
    outbox.plan(
        operation=operation,
        batch=extension.batch,
        key=(hit.hit_id, operation.value, extension.pk),
        extension=extension,
        hit=hit,
        args=args,
    )


def _queue(batch: Batch, extension: Extension, by: AbstractBaseUser | None) -> Job:
    return jobs.enqueue(
        task=TASK,
        title=f"Extend {batch.name}"[:160],
        project=batch.project,
        by=by,
        exclusive_key=f"extend:{batch.pk}",
        batch=batch.pk,
        extension=extension.pk,
    )


def _whole_second(moment: datetime) -> datetime:
    """Return the moment without fractions, which not every service keeps."""
    return moment.replace(microsecond=0)
