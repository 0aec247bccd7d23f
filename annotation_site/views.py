"""The front door."""

import sys

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template import loader

from annotation_site.readiness import readiness
from hits.selectors.roles import projects_of
from hits.services.errors import is_full

_BAD_REQUESTS: list[tuple[type[Exception], str]] = [
    (TooManyFilesSent, "Too many files were sent at once: send at most 100 at a time."),
    (TooManyFieldsSent, "The form has too many fields: send less at a time."),
    (RequestDataTooBig, "The texts of the form are too large: send less at a time."),
]


@login_not_required
def home(request: HttpRequest) -> HttpResponse:
    """Show what this is to a stranger; take everybody else to their work."""
    if not request.user.is_authenticated:
        return render(request, "welcome.html")
    if projects_of(request.user).exists() or request.user.is_superuser:
        return redirect("projects")
    return redirect("marketplace:work")


def live(request: HttpRequest) -> HttpResponse:
    """Answer that this process is up; no database is asked."""
    return JsonResponse({"ok": True})


def ready(request: HttpRequest) -> HttpResponse:
    """Answer whether requests can be served: 503 without the database or with migrations to apply.

    A cache that does not answer, and work that nobody takes up, are told as degraded with 200: taking every web
    process out of a load balancer for them would help nobody.
    """
    found = readiness()
    return JsonResponse(found, status=200 if found["ok"] else 503)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Say what could not be read of a request, and what to do instead."""
    words = next((words for kind, words in _BAD_REQUESTS if isinstance(exception, kind)), "")
    body = loader.render_to_string("400.html", {"words": words})
    return HttpResponse(body, status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Say that something broke; where the disk was full, say that instead, since whoever runs the server can help."""
    if is_full(sys.exc_info()[1]):
        return HttpResponse(loader.render_to_string("507.html"), status=507)
    return HttpResponse(loader.render_to_string("500.html"), status=500)
