"""What a worker has done and has in hand, and whether that leaves room for one task more.

A task counts from the moment it is opened until it comes in, is returned, or its time is over; so nobody does work
that is refused when it is handed in. What was returned never counts. These functions only read: who writes after
asking has to hold the worker's row (see ``services.submit``).
"""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from hits import registry
from hits.domain.states import BatchState, Purpose, UnitScope
from hits.models import Assignment, Attempt, Batch, Hit, Submission, Worker

GRACE = timedelta(hours=1)  # a page that ran out of time while saving may still store what was written
# An application is taken once by its condition, training may be repeated, and a compensation is for one worker.
_RULES_OF_THEIR_OWN = (Purpose.QUALIFYING, Purpose.TRAINING, Purpose.COMPENSATING)


def limit_reached(
    worker: Worker,
    batch: Batch,
    *,
    hit: Hit | None = None,
    besides: int | None = None,
    finishing: bool = False,
) -> list[str]:
    """Return why the batch's limit leaves no room for another task, or nothing; one query, two when full.

    ``hit`` is the one that is opened, ``besides`` an attempt that is left out. ``finishing`` asks for one that is
    handed in: of two that are in hand at once, however that came about, the first one counts.
    """
    if batch.worker_limit is None:
        return []
    rows = _counting(worker, batch).exclude(_given_back(hit))
    if besides is not None:
        rows = rows.exclude(pk=besides)
    if finishing:
        rows = rows.filter(Q(confirmed=True) | Q(stored=True))
    if rows.count() < batch.worker_limit:
        return []
    in_hand = rows.filter(confirmed=False, stored=False).select_related("hit__unit__batch").first()
    if in_hand is None:
        return [_used_up(batch.worker_limit)]
    said = ngettext(
        "Each worker may do this once.", "Each worker may do %(count)s of these.", batch.worker_limit
    ) % {"count": batch.worker_limit}
    return [f"{said} {_to_finish(in_hand)}"]


def unit_taken(worker: Worker, hit: Hit, *, besides: int | None = None, finishing: bool = False) -> list[str]:
    """Return why the worker has this HIT's unit already, under another HIT or in another batch; else nothing.

    Another slot of the same HIT is no such reason (``_given_back``). ``besides`` and ``finishing`` as for the limit.
    """
    batch = hit.unit.batch
    if batch.kind in registry.with_purpose(*_RULES_OF_THEIR_OWN):
        return []
    same = Q(hit__unit=hit.unit_id)
    if batch.unit_scope == UnitScope.PROJECT:
        same |= Q(
            hit__unit__key=hit.unit.key,
            hit__unit__batch__project=batch.project_id,
            hit__unit__batch__kind=batch.kind,
        )
    rows = Attempt.objects.filter(same, worker=worker)
    found = _marked(rows if besides is None else rows.exclude(pk=besides)).exclude(_given_back(hit))
    others = [row for row in found.select_related("hit__unit__batch") if _counts(row)]
    done = next((row for row in others if row.confirmed or row.stored), None)
    if done is not None or _shown_there(worker, same):
        return [gettext("You did this one already, in another task. Each worker does it once.")]
    if finishing or not others:
        return []
    said = gettext("You have this one in hand already, in another task.")
    return [f"{said} {_to_finish(others[0])}"]


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


def _counting(worker: Worker, batch: Batch) -> "QuerySet[Any]":
    """Return the worker's attempts that count against the batch's limit; the same rule as ``_counts``, in SQL."""
    running = Q(opened_at__gt=timezone.now() - _time_for(batch))
    lost = lost_before(batch)
    on_its_way = Q(stored=True) if lost is None else Q(stored=True, opened_at__gt=lost)
    rows = _marked(Attempt.objects.filter(worker=worker, hit__unit__batch=batch))
    return rows.filter(Q(confirmed=True) | Q(released_at=None) & (running | on_its_way)).order_by("opened_at")


def _given_back(hit: Hit | None) -> Q:
    """Match earlier tries at the HIT that is opened now, unless they came in.

    A marketplace gives a worker one slot of a HIT at a time: whoever opens another one has given the first back, or
    run out of time, whether or not a notification told us so.
    """
    return Q(pk=None) if hit is None else Q(hit=hit, confirmed=False)


def _counts(attempt: Any) -> bool:
    """Tell whether a marked attempt counts."""
    batch = attempt.hit.unit.batch
    if attempt.confirmed:
        return True
    if attempt.released_at is not None:
        return False
    if attempt.opened_at > timezone.now() - _time_for(batch):
        return True
    lost = lost_before(batch)
    return bool(attempt.stored) and (lost is None or attempt.opened_at > lost)


def _marked(rows: "QuerySet[Attempt]") -> "QuerySet[Any]":
    """Add ``confirmed`` (the marketplace shows it) and ``stored`` (our page has an answer)."""
    shown = Assignment.objects.filter(
        hit=OuterRef("hit"), assignment_id=OuterRef("assignment_id"), worker=OuterRef("worker")
    )
    answer = Submission.objects.filter(attempt=OuterRef("pk"))
    return rows.annotate(confirmed=Exists(shown), stored=Exists(answer))


def _shown_there(worker: Worker, same: Q) -> bool:
    """Tell whether the marketplace shows work of theirs on the unit that never was on our page."""
    mine = Attempt.objects.filter(
        hit=OuterRef("hit"), assignment_id=OuterRef("assignment_id"), worker=OuterRef("worker")
    )
    return Assignment.objects.filter(same, ~Exists(mine), worker=worker).exists()


def _time_for(batch: Batch) -> timedelta:
    return timedelta(seconds=batch.duration_seconds)


def _to_finish(attempt: Attempt) -> str:
    batch = attempt.hit.unit.batch
    return gettext(
        "Finish “%(task)s”, which you opened at %(opened)s and may hand in until %(until)s, or return it."
    ) % {
        "task": gettext(registry.get(batch.kind).title),
        "opened": _clock(attempt.opened_at),
        "until": _clock(attempt.opened_at + _time_for(batch)),
    }


def _clock(at: datetime) -> str:
    return f"{at:%H:%M} UTC"


def _used_up(limit: int) -> str:
    if limit == 1:
        return gettext("This can be done once, and you have handed yours in.")
    return gettext("Each worker may do %(count)s of these, and you have handed in as many.") % {
        "count": limit
    }
