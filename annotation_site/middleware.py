"""Two origins, one server; and text that every database can keep.

``HIT_ORIGIN`` serves the HIT pages, static files and images, and never sees or sets a cookie;
``PUBLIC_URL`` serves everything else. A path asked for under the wrong name is not found. So the
HIT frame is cross-site in the demo as it is on a marketplace that somebody else runs.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseNotFound, QueryDict

_SHARED = ("/static/", "/favicon")
_HIT_ONLY = ("/hit/", "/media/images/")


_FORMS = {"application/x-www-form-urlencoded", "multipart/form-data"}


def is_hit_origin(request: HttpRequest) -> bool:
    """Tell whether the request was addressed to ``HIT_ORIGIN``.

    Where the two origins have different names, the name alone decides: a proxy may drop the port, and
    capitals or a dot at the end lead to the same server.
    """
    own, public = urlsplit(settings.HIT_ORIGIN), urlsplit(settings.PUBLIC_URL)
    asked = request.META.get("HTTP_HOST", "").lower()
    if own.hostname == public.hostname:
        return asked == own.netloc
    try:
        name = urlsplit(f"//{asked}").hostname or ""
    except ValueError:
        return False
    return name.rstrip(".") == own.hostname


class OriginMiddleware:
    """Answers 404 for a path under the wrong origin and drops cookies on ``HIT_ORIGIN``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Route by origin."""
        if settings.PUBLIC_URL == settings.HIT_ORIGIN:
            return self.get_response(request)  # a deployment behind one name keeps the paths apart itself
        on_hit_origin = is_hit_origin(request)
        path = request.path
        if not path.startswith(_SHARED) and path.startswith(_HIT_ONLY) != on_hit_origin:
            return HttpResponseNotFound("Not found", content_type="text/plain")
        if not on_hit_origin:
            return self.get_response(request)
        request.META.pop("HTTP_COOKIE", None)
        request.__dict__.pop("COOKIES", None)
        response = self.get_response(request)
        response.cookies.clear()
        return response


class PlainTextMiddleware:
    """Refuses NUL characters in addresses and forms: nobody types one, and PostgreSQL keeps none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Look at the address."""
        if "\x00" in request.path:
            return _not_plain("The address")
        return _with_nul(request.GET) or self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> HttpResponse | None:
        """Look at a form's fields; other bodies are read by their own views only."""
        if request.content_type not in _FORMS:
            return None
        try:
            return _with_nul(request.POST)
        except (RequestDataTooBig, TooManyFieldsSent):
            return None  # the view reads it again, and says so in its own words


def _with_nul(fields: QueryDict) -> HttpResponse | None:
    for name, values in fields.lists():
        if any("\x00" in text for text in (name, *values)):
            return _not_plain(f"The field {name[:80]}")
    return None


def _not_plain(what: str) -> HttpResponse:
    message = f"{what} holds a NUL character: remove it.".replace("\x00", "")
    return HttpResponseBadRequest(message, content_type="text/plain; charset=utf-8")
