"""A HIT's status, computed from its slots and the clock. It is not stored."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from hits.marketplace.models import HIT, Assignment, Requester, SlotState


class HITStatus(StrEnum):
    """The API's names of a HIT's status."""

    ASSIGNABLE = "Assignable"
    UNASSIGNABLE = "Unassignable"
    REVIEWABLE = "Reviewable"
    REVIEWING = "Reviewing"
    DISPOSED = "Disposed"


@dataclass(frozen=True)
class SlotCounts:
    """The number of a HIT's slots in each state."""

    open: int = 0
    pending: int = 0
    submitted: int = 0
    approved: int = 0
    rejected: int = 0

    @property
    def completed(self) -> int:
        """The number of decided slots. No counter of the API includes submitted slots."""
        return self.approved + self.rejected


def count_slots(hits: Iterable[HIT]) -> dict[int, SlotCounts]:
    """Return counts by HIT pk, in one query."""
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    rows = (
        Assignment.objects.filter(hit__in=[hit.pk for hit in hits])
        .values_list("hit_id", "state")
        .annotate(n=Count("pk"))
    )
    for hit_pk, state, n in rows:
        counts[hit_pk][state] = n
    return {hit.pk: SlotCounts(**counts[hit.pk]) for hit in hits}


def hit_status(hit: HIT, counts: SlotCounts, now: datetime) -> HITStatus:
    """Return the status. Callers sweep abandoned slots before they count."""
    if hit.disposed_at is not None:
        return HITStatus.DISPOSED
    is_closed = counts.open == 0 or hit.expires_at <= now
    if not is_closed:
        return HITStatus.ASSIGNABLE
    if counts.pending:
        return HITStatus.UNASSIGNABLE
    return HITStatus.REVIEWING if hit.is_reviewing else HITStatus.REVIEWABLE


def free_slot_condition(now: datetime) -> Q:
    """Return the condition on HITs that a slot is free, or was taken and is past its deadline.

    Two subqueries, each with its own index: with one, PostgreSQL reads all slots of every HIT.
    """
    slots = Assignment.objects.filter(hit=OuterRef("pk"))
    open_slot = Exists(slots.filter(state=SlotState.OPEN))
    return open_slot | Exists(slots.filter(state=SlotState.PENDING, deadline__lte=now))


def find_reviewable_hits(requester: Requester, *, now: datetime, reviewing: bool) -> QuerySet[HIT]:
    """Return a requester's HITs that are Reviewable, or Reviewing, by the same rule as ``hit_status``."""
    slots = Assignment.objects.filter(hit=OuterRef("pk"))
    in_progress = Q(state=SlotState.PENDING, deadline__gt=now)
    return HIT.objects.filter(requester=requester, disposed_at=None, is_reviewing=reviewing).filter(
        ~Exists(slots.filter(in_progress)), Q(expires_at__lte=now) | ~free_slot_condition(now)
    )


def find_stale_hits(idle_since: datetime) -> QuerySet[HIT]:
    """Return HITs of all requesters with nothing to decide and no change since ``idle_since``.

    A HIT is idle from its last submission, and from the end of its offer while it has free slots.
    """
    slots = Assignment.objects.filter(hit=OuterRef("pk"))
    return HIT.objects.filter(
        Q(expires_at__lte=idle_since) | ~Exists(slots.filter(state=SlotState.OPEN)),
        ~Exists(slots.filter(state__in=[SlotState.PENDING, SlotState.SUBMITTED])),
        ~Exists(slots.filter(submitted_at__gt=idle_since)),
        disposed_at=None,
        created_at__lte=idle_since,
    )
