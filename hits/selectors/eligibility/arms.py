"""Read which arms a unit's live attempts have, and how the arms of a batch came out."""

from collections.abc import Iterable

from django.db.models import Count

from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment, Attempt, Batch, Unit
from hits.selectors.eligibility.limits import has_ended


def live_arms(unit: Unit) -> list[int]:
    """Return the arms of a unit's live attempts; a handful of queries, whose number grows with no one's work.

    Live is the newest attempt of each slot (HIT and assignment id), unless it ended or its work was rejected: then
    the arm is free for whoever is asked again.
    """
    rows = Attempt.objects.filter(hit__unit=unit).select_related("hit__unit__batch")
    newest = newest_of(rows.prefetch_related("submissions").order_by("opened_at", "pk"))
    rejected = set(
        Assignment.objects.filter(hit__unit=unit, status=AssignmentStatus.REJECTED).values_list(
            "hit_id", "assignment_id"
        )
    )
    return [
        row.arm
        for row in newest
        if row.arm is not None and (row.hit_id, row.assignment_id) not in rejected and not has_ended(row)
    ]


def newest_of(rows: Iterable[Attempt]) -> list[Attempt]:
    """Return the newest attempt of each slot, of attempts in the order of their opening."""
    return list({(row.hit_id, row.assignment_id): row for row in rows}.values())


def arm_counts(batches: Iterable[Batch]) -> list[tuple[int, int]]:
    """Return each order's number, from 1, with how many confirmed answers came from it, without rejected ones.

    One query; nothing where no page of these batches had more than one order.
    """
    rows = Assignment.objects.filter(hit__unit__batch__in=batches, match=Match.MATCHED)
    rows = rows.exclude(status=AssignmentStatus.REJECTED).exclude(submission__attempt__arm=None)
    counts = (
        rows.values_list("submission__attempt__arm")
        .annotate(Count("pk"))
        .order_by("submission__attempt__arm")
    )
    return [(arm + 1, count) for arm, count in counts]
