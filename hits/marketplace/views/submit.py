"""externalSubmit: the target of a HIT page's own form, inside the worker's frame, without a cookie."""

from collections.abc import Callable

from csp.decorators import csp_replace
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from hits.domain.content_security_policy import SAME_SITE_FRAMES
from hits.domain.crashpoints import crash_point
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Clock, Worker
from hits.marketplace.services import attempts

from .access import find_worker


@csrf_exempt
@login_not_required
@require_http_methods(["GET", "POST"])
@never_cache
@xframe_options_sameorigin
@csp_replace(SAME_SITE_FRAMES)  # type: ignore[arg-type]  # django-csp's types do not allow path parameters
def submit_with_secret(request: HttpRequest, secret: str) -> HttpResponse:
    """Accept an answer at the secret URL of the current attempt.

    GET is accepted too: a form without a method uses it, as old pages do (LabelMe, video annotation). This is safe
    because the URL contains the secret.
    """
    return _submit(request, attempts.submit_with_secret, secret=secret)


@csrf_exempt
@login_not_required
@never_cache
@xframe_options_sameorigin
@csp_replace(SAME_SITE_FRAMES)
def submit_signed_in(request: HttpRequest) -> HttpResponse:
    """Accept an answer at the URL without a secret: from a signed-in worker, for their own open task only.

    There is no CSRF token because the form is on the requester's page. A form of another site sends no session: the
    cookie is SameSite=Lax.
    """
    if request.method != "POST":  # any page can make a signed-in browser send a GET
        return _render_refusal(
            request, gettext("Nothing was submitted: open the task from your list, and submit it there."), 405
        )
    worker = find_worker(request)
    if worker is None:
        return _render_refusal(
            request, gettext("Sign in first, then submit from the task's own page."), status=403
        )
    return _submit(request, attempts.submit_signed_in, worker=worker)


def _submit(
    request: HttpRequest, service: Callable[..., attempts.SubmissionReceipt], **sender: Worker | str
) -> HttpResponse:
    """Submit the request's fields through ``service``; ``sender`` is the secret or the signed-in worker."""
    try:
        receipt = service(
            fields=_read_fields(request),  # first: it reports unreadable input
            assignment_id=_read_assignment_id(request),
            now=Clock.now(),
            **sender,
        )
    except ActionRefused as error:
        return _render_refusal(request, str(error))
    crash_point("marketplace.submit.after_commit")
    return render(request, "marketplace/task/submitted.html", {"task": receipt.assignment})


def _read_assignment_id(request: HttpRequest) -> str:
    """Return the assignment id; some pages send it in the query string of a POST."""
    return request.POST.get("assignmentId") or request.GET.get("assignmentId", "")


def _read_fields(request: HttpRequest) -> list[tuple[str, str]]:
    """Return all form fields in order, repeated names included."""
    try:
        data = request.POST if request.method == "POST" else request.GET
        return [(name, value) for name, values in data.lists() for value in values]
    except TooManyFieldsSent:
        raise ActionRefused("The form has too many fields.") from None
    except RequestDataTooBig:
        raise ActionRefused(attempts.ANSWER_TOO_LONG) from None


def _render_refusal(request: HttpRequest, reason: str, status: int = 409) -> HttpResponse:
    response = render(
        request, "marketplace/task/not_submitted.html", {"reason": gettext(reason)}, status=status
    )
    # Django logs the path of refused requests, and this path may contain a valid secret.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
