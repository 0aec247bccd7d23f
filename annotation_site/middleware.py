"""Separate the two origins, refuse NUL characters, and answer 503 during outages.

``HIT_ORIGIN`` serves the HIT pages, static files and images, and never reads or sets a cookie. ``PUBLIC_URL`` serves
everything else. A path under the wrong origin is not found. So the HIT frame is cross-site in the demo, as it is on
an external marketplace.
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

from hits.registry import PackageNotInstalled

logger = logging.getLogger(__name__)

UNAVAILABLE_MESSAGE = "The server is busy. Your saved work is safe; try again in ten seconds."
_SHARED_PATHS = ("/static/", "/favicon")
_REQUESTER_API_PATHS = {"/mturk", "/mturk/"}
_HIT_ORIGIN_PATHS = ("/hit/", "/media/images/")


_FORM_TYPES = {"application/x-www-form-urlencoded", "multipart/form-data"}


def is_hit_origin(request: HttpRequest) -> bool:
    """Return whether the request is addressed to ``HIT_ORIGIN``.

    If the two origins have different host names, the name alone decides: a proxy may drop the port, and capitals or
    a dot at the end lead to the same server.
    """
    own, public = urlsplit(settings.HIT_ORIGIN), urlsplit(settings.PUBLIC_URL)
    host = request.META.get("HTTP_HOST", "").lower()
    if own.hostname == public.hostname:
        return host == own.netloc
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name.rstrip(".") == own.hostname


class Middleware:
    """Base of our middleware: passes each request on unchanged."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on."""
        return self.get_response(request)


class OriginMiddleware(Middleware):
    """Answer 404 to a path under the wrong origin, and drop cookies on ``HIT_ORIGIN``."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Route by origin."""
        if _is_misaddressed_api_call(request):
            return _wrong_address_response()
        if settings.PUBLIC_URL == settings.HIT_ORIGIN:
            return self.get_response(request)  # a deployment with one name separates the paths itself
        on_hit_origin = is_hit_origin(request)
        path = request.path
        if not path.startswith(_SHARED_PATHS) and path.startswith(_HIT_ORIGIN_PATHS) != on_hit_origin:
            return HttpResponseNotFound("Not found", content_type="text/plain")
        if not on_hit_origin:
            return self.get_response(request)
        request.META.pop("HTTP_COOKIE", None)
        request.__dict__.pop("COOKIES", None)
        response = self.get_response(request)
        response.cookies.clear()
        return response


def _is_misaddressed_api_call(request: HttpRequest) -> bool:
    """Return whether a script calls the requester API at a wrong address."""
    is_call = request.headers.get("X-Amz-Target", "").startswith("MTurkRequesterService")
    is_api_address = request.path in _REQUESTER_API_PATHS and (
        settings.PUBLIC_URL == settings.HIT_ORIGIN or not is_hit_origin(request)
    )
    return is_call and not is_api_address


def _wrong_address_response() -> HttpResponse:
    """Answer as the API does, so that botocore shows the message."""
    message = f"The requester API is not at this address. Use endpoint_url={settings.PUBLIC_URL}/mturk/"
    body = json.dumps(
        {"__type": "RequestError", "Message": message, "TurkErrorCode": "AWS.MechanicalTurk.WrongAddress"}
    )
    return HttpResponse(body, status=400, content_type="application/x-amz-json-1.1")


class NulCharacterMiddleware(Middleware):
    """Refuse NUL characters in addresses and forms: nobody types them, and PostgreSQL cannot store them."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Check the address."""
        if "\x00" in request.path:
            return _nul_refusal("The address")
        return _nul_refusal_or_none(request.GET) or self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> HttpResponse | None:
        """Check a form's fields; other bodies are read by their views only."""
        if request.content_type not in _FORM_TYPES:
            return None
        try:
            return _nul_refusal_or_none(request.POST)
        except (RequestDataTooBig, TooManyFieldsSent):
            return None  # the view reads the form again and reports the error itself


def _nul_refusal_or_none(fields: QueryDict) -> HttpResponse | None:
    for name, values in fields.lists():
        if any("\x00" in text for text in (name, *values)):
            return _nul_refusal(f"The field {name[:80]}")
    return None


def _nul_refusal(subject: str) -> HttpResponse:
    message = f"{subject} contains a NUL character: remove it.".replace("\x00", "")
    return HttpResponseBadRequest(message, content_type="text/plain; charset=utf-8")


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Django's middleware, changed so that signing in never leads to an address that accepts only POST.

    A user whose session expired before a button press returns to the page with the button.
    """

    def handle_no_permission(
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseRedirect:
        """Redirect to the sign-in page, with a next page that accepts GET."""
        if request.method in {"GET", "HEAD"}:
            return super().handle_no_permission(request, view_func)
        referrer = urlsplit(request.headers.get("Referer", ""))
        is_own_page = referrer.netloc == request.get_host()
        next_page = referrer.path + (f"?{referrer.query}" if referrer.query else "") if is_own_page else "/"
        return redirect_to_login(
            next_page or "/", self.get_login_url(view_func), self.get_redirect_field_name(view_func)
        )


class OutageMiddleware(Middleware):
    """Answer 503 when a page needs a database, or a kind or family, that is not available."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer 503 to a temporary outage, and to code that is not installed in this process."""
        if isinstance(exception, PackageNotInstalled):
            logger.error("%s", exception)
            body = loader.render_to_string("503_not_installed.html", {"message": str(exception)})
            return HttpResponse(body, status=503)
        if not isinstance(exception, OperationalError | InterfaceError):
            return None
        logger.exception("the database does not answer")
        if "disk is full" in str(exception):  # SQLite's message
            return HttpResponse(loader.render_to_string("507.html"), status=507)
        return unavailable_response(request)


def unavailable_response(request: HttpRequest) -> HttpResponse:
    """Return a page, or JSON for an API, that says when to retry. It uses no database."""
    if request.path.startswith(("/api/", "/hit/api/", "/mturk")):
        response: HttpResponse = JsonResponse({"error": UNAVAILABLE_MESSAGE, "errors": []}, status=503)
    else:
        response = HttpResponse(loader.render_to_string("503.html"), status=503)
    response["Retry-After"] = "10"
    return response
