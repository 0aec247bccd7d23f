"""An uploaded page as the document of a sandboxed frame: it has an opaque origin and cannot send data out.

Values are filled in without escaping, so a page may contain any script. The policy below keeps that harmless, in our
frame and when the document is opened directly.
"""

import re
import uuid
from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from hits.domain.content_security_policy import template_page_policy
from hits.selectors.templates import find_document
from hits.views.pages import get_or_404

_DOCTYPE_PATTERN = re.compile(r"\s*(?:<!--(?:(?!-->).)*-->\s*)*<!doctype[^>]*>", re.IGNORECASE | re.DOTALL)


@login_not_required
@require_safe
@never_cache
@xframe_options_exempt
def hit_document(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show the page of a unit with its row filled in. It is as public as the task's preview."""
    found = get_or_404(find_document(public_id), "There is no such task.")
    framed_by = (settings.HIT_ORIGIN, *settings.HIT_FRAME_ANCESTORS)
    return framed_document_response(
        found.html, origin=settings.HIT_ORIGIN, hosts=found.hosts, framed_by=framed_by
    )


def framed_document_response(
    html: str, *, origin: str, hosts: Sequence[str], framed_by: Sequence[str]
) -> HttpResponse:
    """Return a page with our scripts inserted first, under the policy of a sandboxed frame."""
    script = format_html(
        '<script src="{}{}"></script><script src="{}{}" data-submit="{}"></script>',
        origin,
        static("js/hit/forgotten-storage.js"),
        origin,
        static("html_template/frame.js"),
        gettext("Submit"),
    )
    response = HttpResponse(_insert_script(html, script))
    response["Content-Security-Policy"] = frame_policy(origin=origin, hosts=hosts, framed_by=framed_by)
    # The referrer would tell an allowed host which worker loads its image.
    response["Referrer-Policy"] = "no-referrer"
    return response


def frame_policy(*, origin: str, hosts: Sequence[str], framed_by: Sequence[str]) -> str:
    """Return the Content-Security-Policy of an uploaded page that is served from ``origin``."""
    return template_page_policy(
        origin=origin, static_url=settings.STATIC_URL, hosts=hosts, framed_by=framed_by
    )


def _insert_script(html: str, script: str) -> str:
    """Insert our script before all others and after the doctype, which keeps the page in standards mode."""
    found = _DOCTYPE_PATTERN.match(html)
    if found is None:
        return f"<!doctype html>{script}{html}"
    return f"{html[: found.end()]}{script}{html[found.end() :]}"
