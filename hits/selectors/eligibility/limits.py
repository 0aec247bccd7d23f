"""What a worker has done and has in hand, and whether that leaves room for one task more.

Only the marketplace's word counts: what it showed us as submitted, and what it says the worker has in hand. A page
that was opened is no proof of anything where others may open it in a worker’s name. Our own marketplace asks before
it hands a task out (``acceptance``); on a foreign one we ask when a page is opened. So nobody does work that is
refused when it is handed in. What was returned never counts.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from hits import registry
from hits.domain.states import BatchState, Purpose, UnitScope
from hits.models import Assignment, Attempt, Batch, Hit, Worker

GRACE = timedelta(hours=1)  # a page that ran out of time while saving may still store what was written
# An application is taken once by its condition, training may be repeated, and a compensation is for one worker.
_RULES_OF_THEIR_OWN = (Purpose.QUALIFYING, Purpose.TRAINING, Purpose.COMPENSATING)


def limit_reached(worker: Worker | None, batch: Batch, *, held: Collection[str] = ()) -> list[str]:
    """Return why the batch's limit leaves no room for another task, or nothing.

    held: ids of HITs that the worker has in hand or submitted, as the marketplace says.
    """
    if batch.worker_limit is None:
        return []
    tasks = set(Hit.objects.filter(hit_id__in=held, unit__batch=batch).values_list("pk", flat=True))
    if worker is not None:
        done = Assignment.objects.filter(worker=worker, hit__unit__batch=batch)
        tasks |= set(done.values_list("hit_id", flat=True))
    return [_used_up(batch.worker_limit)] if len(tasks) >= batch.worker_limit else []


def unit_taken(worker: Worker | None, hit: Hit, *, held: Collection[str] = ()) -> list[str]:
    """Return why the worker has this HIT's unit already, under another HIT or in another batch; else nothing.

    Another slot of the same HIT is no such reason: a marketplace gives a worker one slot of a HIT at a time. ``held``
    as for the limit.
    """
    batch = hit.unit.batch
    if batch.kind in registry.with_purpose(*_RULES_OF_THEIR_OWN):
        return []
    same = Q(unit=hit.unit_id)
    if batch.unit_scope == UnitScope.PROJECT:
        same |= Q(unit__key=hit.unit.key, unit__batch__project=batch.project_id, unit__batch__kind=batch.kind)
    others = Hit.objects.filter(same).exclude(pk=hit.pk)
    if worker is not None and others.filter(assignments__worker=worker).exists():
        return [gettext("You did this one already, in another task. Each worker does it once.")]
    if held and others.filter(hit_id__in=held).exists():
        return [gettext("You have this one in hand already, in another task.")]
    return []


def seen_before(worker: Worker | None, hit: Hit) -> list[str]:
    """Return why a unit that is shown to somebody once is not for this worker, who opened it before; else nothing.

    Opening is proof only where nobody opens a page in another's name: on our own marketplace.
    """
    if worker is None or not registry.get(hit.unit.batch.kind).once:
        return []
    if not Attempt.objects.filter(hit__unit=hit.unit_id, worker=worker).exists():
        return []
    return [gettext("You have seen this one before, and nobody sees it twice.")]


def has_ended(attempt: Attempt) -> bool:
    """Tell whether the try is over without an answer, so that opening it again begins it anew."""
    over = attempt.opened_at + _time_for(attempt.hit.unit.batch) + GRACE < timezone.now()
    return (attempt.released_at is not None or over) and not attempt.submissions.exists()


def lost_before(batch: Batch) -> datetime | None:
    """Return the time of opening up to which an answer that nobody has seen on the marketplace never got through.

    Its time and grace were over when the marketplace was asked last. ``None``: it was never asked.
    """
    asked = timezone.now() if batch.state == BatchState.CLOSED else batch.synced_at
    return None if asked is None else asked - _time_for(batch) - GRACE


def _time_for(batch: Batch) -> timedelta:
    return timedelta(seconds=batch.duration_seconds)


def _used_up(limit: int) -> str:
    if limit == 1:
        return gettext("This can be done once, and you have it in hand or did it already.")
    return gettext("Each worker may do %(count)s of these, and you have as many in hand or done.") % {
        "count": limit
    }
