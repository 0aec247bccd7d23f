"""What a worker could do: groups of HITs with a free slot, their pay and their usual time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from hits.marketplace.models import HIT, Assignment, HITType, SlotState, Worker

RECENT = 25
ENOUGH_TO_TELL = 3
HOUR = 3600


@dataclass(frozen=True)
class Group:
    """HITs of one type as a worker sees them. Seconds and cents; None where too little is known."""

    hit_type: HITType
    tasks_left: int
    usual_seconds: int | None

    @property
    def cents_per_hour(self) -> int | None:
        """Pay for an hour at the usual time."""
        if not self.usual_seconds:
            return None
        return round(self.hit_type.reward_cents * HOUR / self.usual_seconds)


def open_hits(worker: Worker, now: datetime) -> QuerySet[HIT]:
    """Return HITs that this worker could accept now: on offer, a slot free, none of the slots theirs."""
    slots = Assignment.objects.filter(hit=OuterRef("pk"))
    free = Q(state=SlotState.OPEN) | Q(state=SlotState.PENDING, deadline__lte=now)
    return HIT.objects.filter(
        Exists(slots.filter(free)),
        ~Exists(slots.filter(worker=worker)),
        disposed_at=None,
        expires_at__gt=now,
    )


def open_groups(worker: Worker, now: datetime) -> list[Group]:
    """Return the groups with work for this worker, best paid first."""
    open_now = open_hits(worker, now).order_by()
    counted = open_now.values_list("hit_type_id").annotate(n=Count("pk")).values_list("hit_type_id", "n")
    left: dict[int, int] = dict(counted)
    types = HITType.objects.filter(pk__in=left).select_related("requester").order_by("-reward_cents", "pk")
    return [Group(kind, left[kind.pk], usual_seconds(kind)) for kind in types]


def group_for(worker: Worker, hit_type: HITType, now: datetime) -> Group:
    """Return one group, also when nothing is left in it."""
    left = open_hits(worker, now).filter(hit_type=hit_type).count()
    return Group(hit_type, left, usual_seconds(hit_type))


def preview_hit(worker: Worker, hit_type: HITType, now: datetime) -> HIT | None:
    """Return a HIT to look at before accepting: the one that would be accepted first."""
    return open_hits(worker, now).filter(hit_type=hit_type).order_by("pk").first()


def usual_seconds(hit_type: HITType) -> int | None:
    """Return the median time from accept to submit of the latest 25 submissions; None below three."""
    times = (
        Assignment.objects.filter(hit__hit_type=hit_type, submitted_at__isnull=False)
        .order_by("-submitted_at")
        .values_list("accepted_at", "submitted_at")[:RECENT]
    )
    spent = [
        (submitted - accepted).total_seconds() for accepted, submitted in times if accepted and submitted
    ]
    return round(median(spent)) if len(spent) >= ENOUGH_TO_TELL else None
