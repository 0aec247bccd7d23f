"""Read attempts, drafts and submissions."""

from datetime import timedelta

from django.utils import timezone

from hits.domain.states import SubmissionMatch
from hits.models import Assignment, Attempt, Draft, Submission


def has_opened(*, hit_id: str, assignment_id: str, worker_id: str) -> bool:
    """Return whether this worker has opened this assignment."""
    return Attempt.objects.filter(
        hit__hit_id=hit_id, assignment_id=assignment_id, worker__worker_id=worker_id
    ).exists()


def find_draft(attempt: Attempt) -> Draft | None:
    """Return the attempt's draft, or ``None``."""
    return Draft.objects.filter(attempt=attempt).first()


def latest_submission(attempt: Attempt) -> Submission | None:
    """Return the newest stored answer of this attempt, confirmed or not."""
    return attempt.submissions.order_by("-received_at").first()


def is_confirmed(submission: Submission) -> bool:
    """Return whether the marketplace shows this answer, so that the page has nothing left to do."""
    return Assignment.objects.filter(submission=submission, match=SubmissionMatch.MATCHED).exists()


def seconds_left(attempt: Attempt) -> int:
    """Return our estimate of the time left since the opening; the marketplace's clock decides."""
    end = attempt.opened_at + timedelta(seconds=attempt.hit.unit.batch.duration_seconds)
    return max(0, int((end - timezone.now()).total_seconds()))


def has_saved_work(attempt: Attempt) -> bool:
    """Return whether the attempt has a draft or a submission."""
    return Draft.objects.filter(attempt=attempt).exists() or attempt.submissions.exists()
