"""Read the arms of a unit's live attempts, and the answers per arm of a batch."""

from collections.abc import Iterable

from django.db.models import Count

from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.models import Assignment, Attempt, Batch, Unit
from hits.selectors.eligibility.limits import has_lapsed


def live_arms(unit: Unit) -> list[int]:
    """Return the arms of a unit's live attempts; a constant number of queries.

    An attempt is live if it is the newest of its slot (HIT and assignment id), has not ended, and was not rejected.
    Otherwise its arm is free for the next worker.
    """
    rows = Attempt.objects.filter(hit__unit=unit).select_related("hit__unit__batch")
    newest = newest_attempt_per_slot(rows.prefetch_related("submissions").order_by("opened_at", "pk"))
    rejected = set(
        Assignment.objects.filter(hit__unit=unit, status=AssignmentStatus.REJECTED).values_list(
            "hit_id", "assignment_id"
        )
    )
    return [
        row.arm
        for row in newest
        if row.arm is not None and (row.hit_id, row.assignment_id) not in rejected and not has_lapsed(row)
    ]


def newest_attempt_per_slot(rows: Iterable[Attempt]) -> list[Attempt]:
    """Return the newest attempt of each slot; ``rows`` are in the order of their opening."""
    return list({(row.hit_id, row.assignment_id): row for row in rows}.values())


def count_answers_by_arm(batches: Iterable[Batch]) -> list[tuple[int, int]]:
    """Return each arm's number, from 1, with its count of confirmed answers that were not rejected.

    One query. Empty if no page of these batches has arms.
    """
    rows = Assignment.objects.filter(hit__unit__batch__in=batches, match=SubmissionMatch.MATCHED)
    rows = rows.exclude(status=AssignmentStatus.REJECTED).exclude(submission__attempt__arm=None)
    counts = (
        rows.values_list("submission__attempt__arm")
        .annotate(Count("pk"))
        .order_by("submission__attempt__arm")
    )
    return [(arm + 1, count) for arm, count in counts]
