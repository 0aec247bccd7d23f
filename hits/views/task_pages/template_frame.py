"""An old page as the document of a frame without rights: no origin of its own, and nothing goes out of it.

Values are filled in as they stand, so a page may hold any script. What keeps that harmless is the policy below, which
holds wherever the document is opened, in our frame or alone.
"""

import re
import uuid
from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from hits.domain.content_security_policy import template_page
from hits.selectors.templates import document_of

_DOCTYPE = re.compile(r"\s*(?:<!--(?:(?!-->).)*-->\s*)*<!doctype[^>]*>", re.IGNORECASE | re.DOTALL)


@login_not_required
@require_safe
@never_cache
@xframe_options_exempt
def hit_document(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show the page of a unit, its row filled in. Whoever may see the task's preview may see this."""
    found = document_of(public_id)
    if found is None:
        raise Http404("There is no such task.")
    framed_by = (settings.HIT_ORIGIN, *settings.HIT_FRAME_ANCESTORS)
    return framed_document(found.html, origin=settings.HIT_ORIGIN, hosts=found.hosts, framed_by=framed_by)


def framed_document(
    html: str, *, origin: str, hosts: Sequence[str], framed_by: Sequence[str]
) -> HttpResponse:
    """Return a page with our scripts in front, under the policy of a frame without rights."""
    script = format_html(
        '<script src="{}{}"></script><script src="{}{}" data-submit="{}"></script>',
        origin,
        static("js/hit/forgotten-storage.js"),
        origin,
        static("html_template/frame.js"),
        gettext("Submit"),
    )
    response = HttpResponse(_with_first(html, script))
    response["Content-Security-Policy"] = policy(origin=origin, hosts=hosts, framed_by=framed_by)
    # An allowed host must not learn from the address which worker looks at its picture.
    response["Referrer-Policy"] = "no-referrer"
    return response


def policy(*, origin: str, hosts: Sequence[str], framed_by: Sequence[str]) -> str:
    """Return the Content-Security-Policy of an uploaded page that is served from ``origin``."""
    return template_page(origin=origin, static_url=settings.STATIC_URL, hosts=hosts, framed_by=framed_by)


def _with_first(html: str, script: str) -> str:
    """Put our script before all of the page's own, and after its document type, so that it is drawn as meant."""
    found = _DOCTYPE.match(html)
    if found is None:
        return f"<!doctype html>{script}{html}"
    return f"{html[: found.end()]}{script}{html[found.end() :]}"
