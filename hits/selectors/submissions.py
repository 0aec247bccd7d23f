"""Read attempts, drafts and submissions."""

from datetime import timedelta

from django.utils import timezone

from hits.domain.states import Match
from hits.models import Assignment, Attempt, Draft, Submission


def has_begun(*, hit_id: str, assignment_id: str, worker_id: str) -> bool:
    """Tell whether this worker has opened this assignment before."""
    return Attempt.objects.filter(
        hit__hit_id=hit_id, assignment_id=assignment_id, worker__worker_id=worker_id
    ).exists()


def draft_of(attempt: Attempt) -> Draft | None:
    """Return the attempt's draft, if one was saved."""
    return Draft.objects.filter(attempt=attempt).first()


def latest_submission(attempt: Attempt) -> Submission | None:
    """Return the newest stored answer of this attempt, confirmed or not."""
    return attempt.submissions.order_by("-received_at").first()


def is_confirmed(submission: Submission) -> bool:
    """Tell whether the marketplace has shown this very answer, so that nothing is left for the page to do."""
    return Assignment.objects.filter(submission=submission, match=Match.MATCHED).exists()


def seconds_left(attempt: Attempt) -> int:
    """Return our estimate of the time left, counted from the opening; the marketplace's clock rules."""
    ends = attempt.opened_at + timedelta(seconds=attempt.hit.unit.batch.duration_seconds)
    return max(0, int((ends - timezone.now()).total_seconds()))


def has_begun_work(attempt: Attempt) -> bool:
    """Tell whether anything of an attempt's work was saved or handed in."""
    return Draft.objects.filter(attempt=attempt).exists() or attempt.submissions.exists()
