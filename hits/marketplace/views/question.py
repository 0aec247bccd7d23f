"""An HTMLQuestion's page, inside a worker's frame on the HIT origin.

The requester's HTML runs here, so the page has no origin (``sandbox`` without allow-same-origin): it reads no cookie,
stores nothing and cannot see the page around it. It can only run its scripts and send its form.
"""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from hits.domain import content_security_policy
from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT
from hits.marketplace.formats.html_question import insert_first_script, parse_html_question, prepare_page
from hits.marketplace.models import Clock
from hits.marketplace.selectors.questions import find_frame_page

from .frames import turk_submit_to_url


@login_not_required
@require_safe
@never_cache  # the page contains the attempt's secret
@xframe_options_exempt  # the policy's frame-ancestors is more exact
def show_question(request: HttpRequest, token: str) -> HttpResponse:
    """Show the HTML of an open task or of a preview, or a message that it is not open."""
    page = find_frame_page(token, Clock.now())
    if page is None:
        response = render(request, "marketplace/task/question_closed.html", status=403)
        return _set_frame_policy(response, content_security_policy.REFUSED_QUESTION)
    attempt = page.attempt
    html = prepare_page(
        parse_html_question(page.hit.question).html,
        submit_to=turk_submit_to_url(attempt),
        assignment_id=attempt.assignment.assignment_id if attempt else NO_ASSIGNMENT,
    )
    for name in ("marketplace/page-dialogs.js", "js/hit/forgotten-storage.js"):
        html = insert_first_script(html, f"{settings.HIT_ORIGIN}{static(name)}")
    # The form of a preview cannot be sent, not even by its script.
    policy = content_security_policy.SANDBOX_WITH_FORMS if attempt else content_security_policy.SANDBOX
    return _set_frame_policy(HttpResponse(html), policy)


def _set_frame_policy(response: HttpResponse, policy: str) -> HttpResponse:
    """Set the whole policy (the middleware keeps an existing one)."""
    response["Content-Security-Policy"] = content_security_policy.html_question_policy(
        policy=policy, framed_by=settings.PUBLIC_URL
    )
    # The URL contains the worker id and the secret; other hosts must not receive it as Referer.
    response["Referrer-Policy"] = "no-referrer"
    return response
