"""Limits per worker: how many tasks a worker may do, and which units they have already.

Only the marketplace's data counts: its submissions and the tasks that it says the worker has accepted. An opened page
proves nothing if others can open it in the worker's name. Our own marketplace checks before it assigns a task
(``acceptance``); on a foreign one we check when a page is opened, so that no work is refused on submission. Returned
tasks never count.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from hits import registry
from hits.domain.states import BatchState, Purpose, UnitScope
from hits.models import Assignment, Attempt, Batch, Hit, Unit, Worker
from hits.selectors.eligibility.accounts import works_on_project

GRACE_PERIOD = timedelta(hours=1)  # a page whose time ends during a save may still store its answer
# A requirement limits applications to one, training may repeat, and a compensation is for one worker.
_EXEMPT_PURPOSES = (Purpose.QUALIFYING, Purpose.TRAINING, Purpose.COMPENSATING)


def worker_limit_refusals(
    worker: Worker | None, batch: Batch, *, taken_hit_ids: Collection[str] = ()
) -> list[str]:
    """Return why the batch's limit allows no further task; empty if it does.

    taken_hit_ids: HITs that the worker has accepted or submitted according to the marketplace.
    """
    if batch.worker_limit is None:
        return []
    tasks = set(Hit.objects.filter(hit_id__in=taken_hit_ids, unit__batch=batch).values_list("pk", flat=True))
    if worker is not None:
        done = Assignment.objects.filter(worker=worker, hit__unit__batch=batch)
        tasks |= set(done.values_list("hit_id", flat=True))
    return [_limit_reason(batch.worker_limit)] if len(tasks) >= batch.worker_limit else []


def unit_taken_refusals(worker: Worker | None, hit: Hit, *, taken_hit_ids: Collection[str] = ()) -> list[str]:
    """Return why the worker already has this HIT's unit, in another HIT or batch; empty if they do not.

    Another slot of the same HIT does not count, because a marketplace gives a worker one slot of a HIT.
    ``taken_hit_ids`` as in ``worker_limit_refusals``.
    """
    batch = hit.unit.batch
    if batch.kind in registry.kinds_with_purpose(*_EXEMPT_PURPOSES):
        return []
    same_unit = Q(unit=hit.unit_id)
    if batch.unit_scope == UnitScope.PROJECT:
        same_unit |= _same_item_in_project(hit.unit)
    others = Hit.objects.filter(same_unit).exclude(pk=hit.pk)
    if worker is not None and others.filter(assignments__worker=worker).exists():
        return [
            gettext(
                "You have already worked on this item in another task. Each worker does an item only once."
            )
        ]
    if taken_hit_ids and others.filter(hit_id__in=taken_hit_ids).exists():
        return [gettext("You have already accepted this item in another task.")]
    return []


def _same_item_in_project(unit: Unit) -> Q:
    """Return the condition that a HIT is about the same item, in any batch of the kind and project."""
    batch = unit.batch
    field = registry.get_kind(batch.kind).scope_field
    same = Q(**{f"unit__payload__{field}": unit.payload[field]}) if field else Q(unit__key=unit.key)
    return same & Q(unit__batch__project=batch.project_id, unit__batch__kind=batch.kind)


def unit_seen_refusals(worker: Worker | None, hit: Hit) -> list[str]:
    """Return why a unit that each worker may see once is closed to a worker who opened it; else empty.

    Opening a page counts only on our own marketplace, where nobody can open it in another worker's name.
    """
    if worker is None or not registry.get_kind(hit.unit.batch.kind).is_single_attempt:
        return []
    if not Attempt.objects.filter(hit__unit=hit.unit_id, worker=worker).exists():
        return []
    return [gettext("You have seen this item before. Each worker sees an item only once.")]


def unit_revealed_refusals(worker: Worker | None, hit: Hit) -> list[str]:
    """Return why a unit is closed to a worker who knows too much about it from a unit of another kind; else empty.

    Who opened a page that ``reveals`` an id gets no unit of a kind that is ``blind_to`` it (``hits.kind.HitKind``).
    The page of the same unit closes nothing: it is in hand.
    On a foreign marketplace somebody else may open a page in a worker's name, which can only close tasks.
    """
    kind, project = registry.get_kind(hit.unit.batch.kind), hit.unit.batch.project
    ids = [hit.unit.payload[field] for field in kind.blind_to if hit.unit.payload.get(field)]
    if worker is None or not ids:
        return []
    seen = Attempt.objects.filter(worker=worker, hit__unit__batch__project=project)
    seen = seen.exclude(hit__unit=hit.unit_id)
    revealed = Q(pk__in=())
    for name in registry.kind_names():
        for field in registry.get_kind(name).reveals:
            revealed |= Q(hit__unit__batch__kind=name, **{f"hit__unit__payload__{field}__in": ids})
    if not seen.filter(revealed).exists():
        return []
    return [gettext("You know this item from another task, so somebody else has to do this one.")]


def own_project_refusals(worker_id: str, hit: Hit) -> list[str]:
    """Return why a blind unit is closed to a worker whose user works on the project's console; else empty."""
    batch = hit.unit.batch
    if not registry.get_kind(batch.kind).blind_to:
        return []
    if not works_on_project(hit.environment, worker_id, batch.project):
        return []
    return [gettext("You work on this project, so somebody else has to do this task.")]


def has_lapsed(attempt: Attempt) -> bool:
    """Return whether the attempt ended without an answer, so that opening the page restarts it."""
    time_is_over = attempt.opened_at + _allowed_time(attempt.hit.unit.batch) + GRACE_PERIOD < timezone.now()
    return (attempt.released_at is not None or time_is_over) and not attempt.submissions.exists()


def lost_submission_cutoff(batch: Batch) -> datetime | None:
    """Return the opening time before which an answer that the marketplace does not show counts as lost.

    Its allowed time and the grace period ended before the last synchronisation; a closed batch needs no further one.
    ``None``: never synchronised.
    """
    known_until = timezone.now() if batch.state == BatchState.CLOSED else batch.synced_at
    return None if known_until is None else known_until - _allowed_time(batch) - GRACE_PERIOD


def _allowed_time(batch: Batch) -> timedelta:
    return timedelta(seconds=batch.duration_seconds)


def _limit_reason(limit: int) -> str:
    if limit == 1:
        return gettext("Each worker can do this once. You have accepted or done it already.")
    return gettext(
        "Each worker may do at most %(count)s of these tasks. You have already accepted or done that many."
    ) % {"count": limit}
