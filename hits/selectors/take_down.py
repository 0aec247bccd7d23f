"""What taking a photo down affects, and which workers have it open."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils import timezone

from hits.domain.states import AssignmentStatus, HitState
from hits.models import Assignment, Attempt, AuditEvent, Hit, Image, Record
from hits.selectors.eligibility.limits import has_lapsed

IMAGE_ACTIONS = ("image.take_down", "image.put_back", "image.describe")


@dataclass(frozen=True, slots=True)
class TakeDownCounts:
    """Counts of what depends on a photo.

    open_hits: HITs that a worker may still start, including planned ones. workers_with_task: workers who opened
    it and have not submitted. waiting: undecided submissions. records: records that new versions leave out.
    """

    open_hits: int
    workers_with_task: int
    waiting: int
    records: int


def count_take_down_effects(image: Image) -> TakeDownCounts:
    """Return the counts for one photo; a fixed number of queries."""
    hits = Hit.objects.filter(unit__in=image.units.all())
    live = hits.filter(state=HitState.LIVE, expires_at__gt=timezone.now()).count()
    planned = hits.filter(state__in=[HitState.PLANNED, HitState.INTENT]).count()
    submitted = Assignment.objects.filter(hit__in=hits, status=AssignmentStatus.SUBMITTED)
    return TakeDownCounts(
        open_hits=live + planned,
        workers_with_task=len(workers_with_open_task(image)),
        waiting=submitted.count(),
        records=Record.objects.filter(Q(image=image) | Q(record_images__image=image)).distinct().count(),
    )


def workers_with_open_task(image: Image) -> set[int]:
    """Return the primary keys of workers who opened a task with this photo and neither submitted nor returned it."""
    rows = Attempt.objects.filter(hit__unit__in=image.units.all(), released_at=None, submissions=None)
    return {row.worker_id for row in rows.select_related("hit__unit__batch") if not has_lapsed(row)}


def image_events(image: Image) -> "QuerySet[AuditEvent]":
    """Return a photo's audit events, newest first."""
    rows = AuditEvent.objects.filter(
        project=image.project_id, subject=str(image.pk), action__in=IMAGE_ACTIONS
    )
    return rows.select_related("actor").order_by("-pk")
