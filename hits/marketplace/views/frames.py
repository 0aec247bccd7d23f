"""URLs of a worker's frame, for a requester's own page and for HTML that the marketplace shows."""

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT, frame_url
from hits.marketplace.models import HIT, Attempt, QuestionKind, Worker
from hits.marketplace.selectors.questions import create_preview_token, create_task_token
from hits.marketplace.services import attempts

from .language import add_language_if_chosen


def turk_submit_to_url(attempt: Attempt | None) -> str:
    """Return turkSubmitTo: the attempt's own URL; for a preview the site itself, which accepts no submission."""
    if attempt is None:
        return settings.PUBLIC_URL
    return f"{settings.PUBLIC_URL}/a/{attempts.attempt_secret(attempt)}"


def task_frame_url(request: HttpRequest, attempt: Attempt, worker: Worker) -> str:
    """Return the URL of an open task, with MTurk's four parameters."""
    slot = attempt.assignment
    return frame_url(
        _question_page_url(request, slot.hit, attempt),
        assignment_id=slot.assignment_id,
        hit_id=slot.hit.hit_id,
        worker_id=worker.worker_id,
        submit_to=turk_submit_to_url(attempt),
    )


def preview_frame_url(request: HttpRequest, hit: HIT, worker: Worker) -> str:
    """Return the URL of a preview; the caller has checked that the worker may see it."""
    return frame_url(
        _question_page_url(request, hit, None),
        assignment_id=NO_ASSIGNMENT,
        hit_id=hit.hit_id,
        worker_id=worker.worker_id,
        submit_to=turk_submit_to_url(None),
    )


def _question_page_url(request: HttpRequest, hit: HIT, attempt: Attempt | None) -> str:
    if hit.question_kind == QuestionKind.EXTERNAL:
        return add_language_if_chosen(request, hit.question_url)
    token = create_task_token(attempt) if attempt else create_preview_token(hit)
    return settings.HIT_ORIGIN + reverse("marketplace:question", args=[token])
