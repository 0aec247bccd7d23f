"""What taking a photo down would mean, in numbers; and who has it in hand."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils import timezone

from hits.domain.states import AssignmentStatus, HitState
from hits.models import Assignment, Attempt, AuditEvent, Hit, Image, Record
from hits.selectors.eligibility.limits import has_ended

CHANGES = ("image.take_down", "image.put_back", "image.describe")


@dataclass(frozen=True, slots=True)
class Consequences:
    """Counts of what stands on a photo.

    open_hits: that anybody may still begin, planned ones included. in_hand: workers who opened it and have not
    submitted. waiting: submissions that nobody decided about. observations: rows that new versions leave out.
    """

    open_hits: int
    in_hand: int
    waiting: int
    observations: int


def consequences(image: Image) -> Consequences:
    """Return the counts for one photo; a handful of queries."""
    hits = Hit.objects.filter(unit__in=image.units.all())
    live = hits.filter(state=HitState.LIVE, expires_at__gt=timezone.now()).count()
    planned = hits.filter(state__in=[HitState.PLANNED, HitState.INTENT]).count()
    submitted = Assignment.objects.filter(hit__in=hits, status=AssignmentStatus.SUBMITTED)
    return Consequences(
        open_hits=live + planned,
        in_hand=len(workers_in_hand(image)),
        waiting=submitted.count(),
        observations=Record.objects.filter(Q(image=image) | Q(record_images__image=image)).distinct().count(),
    )


def workers_in_hand(image: Image) -> set[int]:
    """Return the row keys of workers who opened a task with this photo and neither submitted nor gave it back."""
    rows = Attempt.objects.filter(hit__unit__in=image.units.all(), released_at=None, submissions=None)
    return {row.worker_id for row in rows.select_related("hit__unit__batch") if not has_ended(row)}


def changes_of(image: Image) -> "QuerySet[AuditEvent]":
    """Return what was done with a photo, newest first."""
    rows = AuditEvent.objects.filter(project=image.project_id, subject=str(image.pk), action__in=CHANGES)
    return rows.select_related("actor").order_by("-pk")
