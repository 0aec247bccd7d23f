"""The work that a worker can take: groups of HITs with a free slot, their pay and median time."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.core.cache import cache
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Window
from django.db.models.functions import RowNumber

from hits.marketplace.models import HIT, Assignment, HITType, Worker

from .lifecycle import free_slot_condition
from .worker_profile import GroupClosure, find_closures, load_worker_profile

RECENT_SUBMISSIONS = 25
MEDIAN_CACHE_SECONDS = 60  # every work list shows the median time, and it changes slowly
MIN_SUBMISSIONS = 3
HOUR_SECONDS = 3600


@dataclass(frozen=True)
class WorkGroup:
    """The HITs of one type, as a worker sees them. ``median_seconds`` is None with too few submissions.

    ``closure`` explains why the worker cannot take them; None means that they can.
    """

    hit_type: HITType
    tasks_left: int
    median_seconds: int | None
    closure: GroupClosure | None = None

    @property
    def blocks_preview(self) -> bool:
        """True if the worker may not even preview a task of this group."""
        return self.closure is not None and self.closure.blocks_preview

    @property
    def cents_per_hour(self) -> int | None:
        """Pay per hour at the median time."""
        if not self.median_seconds:
            return None
        return round(self.hit_type.reward_cents * HOUR_SECONDS / self.median_seconds)


def find_open_hits(worker: Worker, now: datetime) -> QuerySet[HIT]:
    """Return HITs that this worker can accept now: on offer, with a free slot and no slot of this worker."""
    own_slots = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker)
    return HIT.objects.filter(
        free_slot_condition(now),
        ~Exists(own_slots),
        disposed_at=None,
        expires_at__gt=now,
    )


def list_open_and_closed_groups(worker: Worker, now: datetime) -> tuple[list[WorkGroup], list[WorkGroup]]:
    """Return the groups that this worker can take and those closed to them, best paid first.

    A group with an unmet DiscoverPreviewAndAccept requirement is in neither list.
    """
    open_hits = find_open_hits(worker, now).order_by()
    counted = open_hits.values_list("hit_type_id").annotate(n=Count("pk")).values_list("hit_type_id", "n")
    tasks_left: dict[int, int] = dict(counted)
    types = list(
        HITType.objects.filter(pk__in=tasks_left).select_related("requester").order_by("-reward_cents", "pk")
    )
    closed = find_closures(load_worker_profile(worker, now), types)
    medians = median_seconds_by_type(types)
    groups = [WorkGroup(row, tasks_left[row.pk], medians.get(row.pk), closed.get(row.pk)) for row in types]
    return (
        [group for group in groups if group.closure is None],
        [group for group in groups if group.closure is not None and not group.closure.is_hidden],
    )


def get_group(worker: Worker, hit_type: HITType, now: datetime) -> WorkGroup:
    """Return one group, even if it has no tasks left or is closed to the worker."""
    tasks_left = find_open_hits(worker, now).filter(hit_type=hit_type).count()
    closure = find_closures(load_worker_profile(worker, now), [hit_type]).get(hit_type.pk)
    return WorkGroup(hit_type, tasks_left, median_seconds_by_type([hit_type]).get(hit_type.pk), closure)


def find_preview_hit(worker: Worker, hit_type: HITType, now: datetime) -> HIT | None:
    """Return the HIT to preview: the one that an accept would take first."""
    return find_open_hits(worker, now).filter(hit_type=hit_type).order_by("pk").first()


def median_seconds_by_type(hit_types: Iterable[HITType]) -> dict[int, int]:
    """Return by pk the median seconds from accept to submit of each type's latest 25 submissions (at least 3).

    Results are cached for a minute, even for types without a median.
    """
    pks = {_median_cache_key(row.pk): row.pk for row in hit_types}
    found = cache.get_many(pks)
    missing = [pk for key, pk in pks.items() if key not in found]
    if missing:
        computed = _compute_median_seconds(missing)
        fresh = {_median_cache_key(pk): computed.get(pk) for pk in missing}
        cache.set_many(fresh, MEDIAN_CACHE_SECONDS)
        found |= fresh
    return {pks[key]: seconds for key, seconds in found.items() if seconds is not None}


def _median_cache_key(hit_type_pk: int) -> str:
    return f"marketplace:usual-seconds:{hit_type_pk}"


def _compute_median_seconds(hit_type_pks: list[int]) -> dict[int, int]:
    newest_first = Window(RowNumber(), partition_by=F("hit__hit_type"), order_by=F("submitted_at").desc())
    rows = (
        Assignment.objects.filter(
            hit__hit_type__in=hit_type_pks,
            submitted_at__isnull=False,
            accepted_at__isnull=False,
        )
        .annotate(rank=newest_first)
        .filter(rank__lte=RECENT_SUBMISSIONS)
        .select_related("hit")
        .only("accepted_at", "submitted_at", "hit__hit_type_id")
    )
    durations: dict[int, list[float]] = defaultdict(list)
    for slot in rows:
        if slot.accepted_at and slot.submitted_at:
            durations[slot.hit.hit_type_id].append((slot.submitted_at - slot.accepted_at).total_seconds())
    return {pk: round(median(times)) for pk, times in durations.items() if len(times) >= MIN_SUBMISSIONS}
