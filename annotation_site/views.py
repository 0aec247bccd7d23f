"""The home page, health checks and error pages."""

import sys

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template import loader

from annotation_site.readiness import readiness_report
from hits.selectors.roles import researcher_projects
from hits.services.errors import is_disk_full

_BAD_REQUEST_MESSAGES: list[tuple[type[Exception], str]] = [
    (TooManyFilesSent, "Too many files were sent at once. Send at most 100 files per form."),
    (TooManyFieldsSent, "The form has too many fields. Send it in parts."),
    (RequestDataTooBig, "The form contains too much text. Shorten it, or send it in parts."),
]


@login_not_required
def home(request: HttpRequest) -> HttpResponse:
    """Show the welcome page to visitors; redirect signed-in users to their projects or tasks."""
    if not request.user.is_authenticated:
        return render(request, "welcome.html")
    if researcher_projects(request.user).exists() or request.user.is_superuser:
        return redirect("projects")
    return redirect("marketplace:work")


def health_live(request: HttpRequest) -> HttpResponse:
    """Answer that this process runs, without a database query."""
    return JsonResponse({"ok": True})


def health_ready(request: HttpRequest) -> HttpResponse:
    """Answer whether requests can be served: 503 without the database or with unapplied migrations.

    A cache that does not answer and jobs that nobody claims are reported as degraded with 200, because removing every
    web process from a load balancer would not help.
    """
    found = readiness_report()
    return JsonResponse(found, status=200 if found["ok"] else 503)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Name the part of a request that could not be read, and what to do instead."""
    message = next((text for kind, text in _BAD_REQUEST_MESSAGES if isinstance(exception, kind)), "")
    body = loader.render_to_string("400.html", {"message": message})
    return HttpResponse(body, status=400)


def server_error(request: HttpRequest) -> HttpResponse:
    """Report an error; a full disk has its own page, because the server's operator can fix it."""
    if is_disk_full(sys.exc_info()[1]):
        return HttpResponse(loader.render_to_string("507.html"), status=507)
    return HttpResponse(loader.render_to_string("500.html"), status=500)
