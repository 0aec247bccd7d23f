"""Two origins, one server; and text that every database can keep.

``HIT_ORIGIN`` serves the HIT pages, static files and images, and never sees or sets a cookie;
``PUBLIC_URL`` serves everything else. A path asked for under the wrong name is not found. So the
HIT frame is cross-site in the demo as it is on a marketplace that somebody else runs.
"""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseNotFound,
    HttpResponseRedirect,
    JsonResponse,
    QueryDict,
)
from django.template import loader

from hits.registry import NotInstalled

logger = logging.getLogger(__name__)

UNAVAILABLE = "This cannot be done at the moment. What was saved before is safe; try again in ten seconds."
_SHARED = ("/static/", "/favicon")
_REQUESTER_API = {"/mturk", "/mturk/"}
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
        if _is_lost_call(request):
            return _wrong_address()
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


def _is_lost_call(request: HttpRequest) -> bool:
    """Whether a script asks for the requester's API where it is not."""
    is_call = request.headers.get("X-Amz-Target", "").startswith("MTurkRequesterService")
    at_home = request.path in _REQUESTER_API and (
        settings.PUBLIC_URL == settings.HIT_ORIGIN or not is_hit_origin(request)
    )
    return is_call and not at_home


def _wrong_address() -> HttpResponse:
    """Answer as the API does, so that botocore shows the sentence."""
    message = f"The requester API is not at this address. Use endpoint_url={settings.PUBLIC_URL}/mturk/"
    body = json.dumps(
        {"__type": "RequestError", "Message": message, "TurkErrorCode": "AWS.MechanicalTurk.WrongAddress"}
    )
    return HttpResponse(body, status=400, content_type="application/x-amz-json-1.1")


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


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Django's own, which after signing in never leads to an address that only takes a POST.

    Whoever pressed a button after the session had ended comes back to the page with the button.
    """

    def handle_no_permission(
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseRedirect:
        """Lead to the sign-in page, and from there to where one can go on."""
        if request.method in {"GET", "HEAD"}:
            return super().handle_no_permission(request, view_func)
        came_from = urlsplit(request.headers.get("Referer", ""))
        own = came_from.netloc == request.get_host()
        back = came_from.path + (f"?{came_from.query}" if came_from.query else "") if own else "/"
        return redirect_to_login(
            back or "/", self.get_login_url(view_func), self.get_redirect_field_name(view_func)
        )


class OutageMiddleware:
    """Says what a page cannot be made without: the database, or the folder of a kind or family that rows name."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass on."""
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer 503 for an outage that passes, and for code that is not installed in this process."""
        if isinstance(exception, NotInstalled):
            logger.error("%s", exception)
            body = loader.render_to_string("503_not_installed.html", {"message": str(exception)})
            return HttpResponse(body, status=503)
        if not isinstance(exception, OperationalError | InterfaceError):
            return None
        logger.exception("the database does not answer")
        if "disk is full" in str(exception):  # SQLite's own words
            return HttpResponse(loader.render_to_string("507.html"), status=507)
        return unavailable(request)


def unavailable(request: HttpRequest) -> HttpResponse:
    """Return the page, or JSON for a program, that says when to come back. It asks no database."""
    if request.path.startswith(("/api/", "/hit/api/", "/mturk")):
        response: HttpResponse = JsonResponse({"error": UNAVAILABLE, "errors": []}, status=503)
    else:
        response = HttpResponse(loader.render_to_string("503.html"), status=503)
    response["Retry-After"] = "10"
    return response
