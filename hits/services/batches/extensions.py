"""Give a live batch more workers per unit, or more time, after its launch.

A HIT grows to at most nine assignments, since ten or more cost double fees; further workers come as new HITs of the
unit. One transaction writes the extension, its calls and its new HITs. A job executes the calls, and each one posts
its hold to our ledger.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from hits import registry
from hits.domain.crashpoints import crash_point
from hits.domain.money.cost_table import Estimate
from hits.domain.states import UNPUBLISHED_HIT_STATES, BatchState, CallState, HitState, JobState
from hits.domain.units.redundancy import MAX_ASSIGNMENTS, slice_sizes
from hits.models import Batch, Extension, Hit, Job, OutgoingCall, Project, Unit
from hits.mturk.environments import current_environment
from hits.mturk.port import Marketplace
from hits.services import audit
from hits.services.environment import refuse_other_environment
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Cancelled, Progress
from hits.services.launching.request_token import build_planned_hit
from hits.services.launching.terms import MAX_REDUNDANCY
from hits.services.money import budget
from hits.services.outbox import outbox
from hits.services.publishing.publish import BUDGET_CHECK_INTERVAL, publish_batch

TASK = "hits.extend_batch"
MAX_SECONDS = 31_536_000  # a year, the API's limit
MIN_SECONDS = 60
STOPPED_MESSAGE = "Stopped before it was executed."
Operation = OutgoingCall.Operation


@dataclass(frozen=True, slots=True)
class UnitGrowth:
    """How one unit's HITs grow: added assignments by HIT, and the sizes of new HITs."""

    added: tuple[tuple[Hit, int], ...]
    new_slices: tuple[int, ...]
    next_slice: int


def estimate_extension(batch: Batch, more_redundancy: int) -> Estimate:
    """Return the cost of ``more_redundancy`` more workers per unit. More time alone costs nothing."""
    units = batch.units.count()
    assignments = units * more_redundancy
    held_cents = _added_hold_cents(batch, more_redundancy)
    items = assignments * registry.get_kind(batch.kind).max_bonus_items if batch.bonus_cents else 0
    max_bonus = batch.bonus_cents * registry.get_kind(batch.kind).max_bonus_items
    return Estimate(
        hits=units,
        assignments=assignments,
        reward_cents=assignments * batch.reward_cents,
        fee_cents=held_cents - assignments * batch.reward_cents,
        bonus_cents=items * batch.bonus_cents,
        bonus_fee_cents=batch.fees.bonus_fee_cents(max_bonus) * assignments if items else 0,
    )


def _added_hold_cents(batch: Batch, more_redundancy: int) -> int:
    """Return the cents held for the added assignments; a HIT's fee depends on its original number."""
    if not more_redundancy:
        return 0
    cents = 0
    for unit in batch.units.prefetch_related("hits"):
        growth = compute_unit_growth(list(unit.hits.all()), more_redundancy, many_from=batch.fees.many_from)
        cents += sum(more * batch.slot_cents(hit.max_assignments) for hit, more in growth.added)
        cents += sum(slots * batch.slot_cents(slots) for slots in growth.new_slices)
    return cents


def extend_batch(
    *,
    batch: Batch,
    more_redundancy: int = 0,
    more_seconds: int = 0,
    by: AbstractBaseUser | None,
    idempotency_key: str = "",
    confirmed_cents: int | None = None,
    available_cents: int | None = None,
) -> tuple[Extension, Job]:
    """Write an extension with its calls and new HITs, and queue it; ``execute_extensions`` makes the calls.

    A second call with the same ``idempotency_key`` returns the first extension. ``available_cents`` is the account's
    balance just before; ``confirmed_cents`` is the sum that a person typed.

    Raises:
        Refused: nothing to extend, beyond a limit, over a cap, too little funds, an unconfirmed sum,
            another marketplace.
        Conflict: the batch is not live, or an earlier extension is unfinished.
    """
    _check_extension_request(batch, more_redundancy, more_seconds)
    with transaction.atomic():
        # PostgreSQL: one plan at a time per project. (SQLite always does so.)
        project = Project.objects.select_for_update().get(pk=batch.project_id)
        earlier = Extension.objects.filter(batch=batch, idempotency_key=idempotency_key).first()
        if idempotency_key and earlier is not None:
            return earlier, Job.objects.filter(task=TASK, args__batch=batch.pk).latest("pk")
        batch.refresh_from_db()
        _check_can_extend(batch, more_redundancy, more_seconds)
        cost = estimate_extension(batch, more_redundancy)
        budget.check_confirmation(
            project=project,
            environment=current_environment(),
            max_cents=cost.max_cents,
            confirmed_cents=confirmed_cents,
        )
        budget.check_caps(project=project, batch=batch, more_cents=cost.max_cents)
        if available_cents is not None:
            budget.check_funds(available_cents=available_cents, needed_cents=cost.held_cents)
        extension = _write_extension(batch, more_redundancy, more_seconds, cost, by, idempotency_key)
        job = _enqueue_extension(batch, extension, by)
    crash_point("extend.after_plan")
    return extension, job


def execute_extensions(*, batch: Batch, marketplace: Marketplace, progress: Progress | None = None) -> int:
    """Make the calls of the batch's extensions and publish its new HITs; return the number of done calls. Repeatable.

    It checks caps and funds before the first call and every hundred calls.

    Raises:
        Refused: a cap is reached, or the marketplace refused some calls; done calls stay done.
        Cancelled: somebody stopped the job; untried calls become refused until somebody retries them.
    """
    calls = OutgoingCall.objects.filter(extension__isnull=False)

    def check_budget_at_interval(call_number: int) -> None:
        if call_number % BUDGET_CHECK_INTERVAL == 1:
            budget.check_batch_budget(batch=batch, marketplace=marketplace)

    try:
        settled = outbox.settle_outstanding_calls(
            marketplace=marketplace,
            batch=batch,
            calls=calls,
            progress=progress,
            before_each=check_budget_at_interval,
        )
    except Cancelled:
        _refuse_untried_calls(batch, STOPPED_MESSAGE)
        raise
    except Refused as error:
        _refuse_untried_calls(batch, str(error))
        raise
    publish_batch(batch=batch, marketplace=marketplace, progress=progress)
    unfinished = unfinished_extension_calls(batch)
    if unfinished:
        reason = next((call.error for call in unfinished if call.error), "another process is making the call")
        raise Refused(f"{len(unfinished)} tasks could not be extended: {reason}")
    return settled.done


def refuse_calls_if_stopped(*, job: Job) -> int:
    """Refuse the untried calls of an extension whose job was cancelled before it started; return their number."""
    job.refresh_from_db(fields=["state"])
    if job.task != TASK or job.state != JobState.CANCELLED:
        return 0
    return _refuse_untried_calls(Batch.objects.get(pk=job.args["batch"]), STOPPED_MESSAGE)


def _refuse_untried_calls(batch: Batch, reason: str) -> int:
    untried = OutgoingCall.objects.filter(
        batch=batch, extension__isnull=False, state=CallState.PLANNED, attempt_at__isnull=True
    )
    return untried.update(state=CallState.REFUSED, error=reason[:400])


def retry_extension(*, batch: Batch, by: AbstractBaseUser | None) -> Job:
    """Queue refused or stopped calls of the batch's extensions again.

    Raises:
        Conflict: there are none, or a job is running.
    """
    with transaction.atomic():
        if not outbox.retry_refused_calls(OutgoingCall.objects.filter(batch=batch, extension__isnull=False)):
            raise Conflict("This batch has no refused extension.")
        return _enqueue_extension(batch, batch.extensions.latest("pk"), by)


def unfinished_extension_calls(batch: Batch) -> list[OutgoingCall]:
    """Return the calls of the batch's extensions that are not done, with refused ones; one query."""
    rows = OutgoingCall.objects.filter(batch=batch, extension__isnull=False).exclude(state=CallState.DONE)
    return list(rows.order_by("pk"))


def compute_unit_growth(
    hits: Sequence[Hit], more_redundancy: int, *, many_from: int = MAX_ASSIGNMENTS + 1
) -> UnitGrowth:
    """Return how a unit's HITs take more assignments: existing HITs grow to nine, and new ones take the rest.

    No HIT grows to ``many_from`` assignments, where the fee changes.
    """
    added_to_hits = []
    for hit in sorted(hits, key=lambda hit: hit.slice):
        maximum = MAX_ASSIGNMENTS if hit.max_assignments >= many_from else min(MAX_ASSIGNMENTS, many_from - 1)
        room = maximum - hit.max_assignments if hit.state == HitState.LIVE else 0
        added = min(max(room, 0), more_redundancy)
        if added:
            added_to_hits.append((hit, added))
            more_redundancy -= added
    next_slice = max((hit.slice for hit in hits), default=0) + 1
    return UnitGrowth(
        tuple(added_to_hits), tuple(slice_sizes(more_redundancy)) if more_redundancy else (), next_slice
    )


def _check_extension_request(batch: Batch, more_redundancy: int, more_seconds: int) -> None:
    refuse_other_environment(batch, current_environment())
    if more_redundancy < 0 or more_seconds < 0 or not (more_redundancy or more_seconds):
        raise Refused("extension: add workers per item, days, or both")
    if more_seconds and not MIN_SECONDS <= more_seconds <= MAX_SECONDS:
        raise Refused("days: extend by at least a minute and at most a year")


def _check_can_extend(batch: Batch, more_redundancy: int, more_seconds: int) -> None:
    if batch.state != BatchState.LIVE:
        raise Conflict(f"{batch.name} is {batch.state}: only a live batch can be extended")
    rows = Hit.objects.filter(unit__batch=batch)
    if rows.filter(state__in=UNPUBLISHED_HIT_STATES).exists():
        raise Conflict(f"{batch.name} is not completely published yet: resume publishing first")
    if unfinished_extension_calls(batch):
        raise Conflict("An earlier extension is unfinished: wait for it, or retry it first")
    if batch.redundancy + more_redundancy > MAX_REDUNDANCY:
        room = MAX_REDUNDANCY - batch.redundancy
        raise Refused(f"workers per item: the limit is {MAX_REDUNDANCY}; add {room} at most")
    ended = rows.filter(state=HitState.LIVE, expires_at__lte=timezone.now()).first()
    if more_redundancy and not more_seconds and ended is not None:
        raise Refused(f"days: the offer ended on {ended.expires_at:%d %b %Y}; add days too")


def _write_extension(
    batch: Batch,
    more_redundancy: int,
    more_seconds: int,
    cost: Estimate,
    by: AbstractBaseUser | None,
    idempotency_key: str,
) -> Extension:
    extension = Extension.objects.create(
        batch=batch,
        more_redundancy=more_redundancy,
        more_seconds=more_seconds,
        estimate_cents=cost.max_cents,
        idempotency_key=idempotency_key,
        extended_by_id=by.pk if by else None,
    )
    if more_seconds:
        _plan_prolongations(batch, extension)
    if more_redundancy:
        for unit in batch.units.prefetch_related("hits"):
            _plan_unit_growth(batch, extension, unit)
        redundancy = batch.redundancy + more_redundancy
        Batch.objects.filter(pk=batch.pk).update(
            redundancy=redundancy, max_assignments=max(batch.max_assignments, *slice_sizes(redundancy))
        )
    audit.record(
        project=batch.project,
        actor=by,
        action="batch.extend",
        subject=batch.pk,
        more_opinions=more_redundancy,  # stored keys keep their names
        more_seconds=more_seconds,
        most_cents=cost.max_cents,
    )
    return extension


def _plan_prolongations(batch: Batch, extension: Extension) -> None:
    more, now = timedelta(seconds=extension.more_seconds), timezone.now()
    for hit in Hit.objects.filter(unit__batch=batch, state=HitState.LIVE):
        end = max(hit.expires_at or now, now) + more
        whole_seconds = end.replace(microsecond=0)  # some services drop fractions of a second
        _plan_call(extension, hit, Operation.PROLONG, {"expires_at": whole_seconds.isoformat()})


def _plan_unit_growth(batch: Batch, extension: Extension, unit: Unit) -> None:
    hits = list(unit.hits.all())
    growth = compute_unit_growth(hits, extension.more_redundancy, many_from=batch.fees.many_from)
    for hit, more in growth.added:
        _plan_call(extension, hit, Operation.EXTEND, {"more": more, "total": hit.max_assignments + more})
    Hit.objects.bulk_create(
        build_planned_hit(batch, unit, hit_slice, slots)
        for hit_slice, slots in enumerate(growth.new_slices, start=growth.next_slice)
    )


def _plan_call(
    extension: Extension, hit: Hit, operation: OutgoingCall.Operation, args: dict[str, int | str]
) -> None:
    outbox.plan_call(
        operation=operation,
        batch=extension.batch,
        key=(hit.hit_id, operation.value, extension.pk),
        extension=extension,
        hit=hit,
        args=args,
    )


def _enqueue_extension(batch: Batch, extension: Extension, by: AbstractBaseUser | None) -> Job:
    return jobs.enqueue_for_batch(
        batch=batch, task=TASK, title=f"Extend {batch.name}", key="extend", by=by, extension=extension.pk
    )
