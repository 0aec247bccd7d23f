"""Limit the size of requests: small by default, large for uploads by people who may upload.

Later middleware reads a form's fields, and for that Django reads the whole form, its files to disk. So a request that
is too large is refused by its Content-Length, before its body is read. A body without a Content-Length is never read:
Django passes an empty body to the view.
"""

import json
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve

from hits.selectors.roles import researcher_projects

MIB = 1024 * 1024
DEFAULT_LIMIT = 3 * MIB  # enough for a form of texts, a requester's call or a draft
_FORM_OVERHEAD = 64 * 1024  # the form around an uploaded file
# URL names that accept uploads from members of a project.
UPLOAD_LIMITS = {
    "project-images": 100 * MIB,
    "image-add": 41 * MIB,  # one photo, at most 40 MB, and its form fields
    "images-manifest": 20 * MIB,
    "images-zip": 2048 * MIB,
    "project-templates": 20 * MIB,
    "units-new": 66 * MIB,
    "template-detail": 20 * MIB,
    "results-upload": 60 * MIB,
    "curation-texts-run": 66 * MIB,
    "curation-audits": 4 * MIB,
    "scene-import": 65 * MIB,  # a file of scenes, at most 64 MB, and its form fields
    "marketplace:payout-import": 10 * MIB,
}
LEADERBOARD_PATHS = ("/leaderboards/", "/api/leaderboards/")


class BodyLimitMiddleware:
    """Compare the Content-Length with the limit of the address for this sender."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer 413 if the request is too large, without reading its body."""
        header = request.META.get("CONTENT_LENGTH") or "0"
        length = int(header) if header.isascii() and header.isdecimal() else None
        if length is not None and length <= self._limit(request, length):
            return self.get_response(request)
        return _too_large_response(request)

    @staticmethod
    def _limit(request: HttpRequest, length: int) -> int:
        """Return the limit of a request. Small requests need no address lookup, except those to leaderboards."""
        is_special = length > DEFAULT_LIMIT or request.path.startswith(LEADERBOARD_PATHS)
        return max_body_bytes(request) if is_special else DEFAULT_LIMIT


def max_body_bytes(request: HttpRequest) -> int:
    """Return the largest number of bytes that this user may send to the address in one request."""
    if request.path.startswith(LEADERBOARD_PATHS):
        return int(settings.LEADERBOARD_MAX_BYTES) + _FORM_OVERHEAD  # the body has the team's key
    try:
        name = resolve(request.path_info).view_name
    except Resolver404:
        return DEFAULT_LIMIT
    limit = UPLOAD_LIMITS.get(name, DEFAULT_LIMIT)
    # Only members of a project may upload. The bodies of other senders are not even received.
    return limit if limit <= DEFAULT_LIMIT or researcher_projects(request.user).exists() else DEFAULT_LIMIT


def _too_large_response(request: HttpRequest) -> HttpResponse:
    limit = max_body_bytes(request)
    if request.path.startswith(LEADERBOARD_PATHS):
        message = (
            f"file: is larger than {settings.LEADERBOARD_MAX_BYTES} bytes; save float32 and compress the zip"
        )
    else:
        message = f"The request is too large: at most {limit // MIB} MB. Shorten it, or send it in parts."
    if request.path.startswith(("/api/", "/hit/api/")):
        body = json.dumps({"error": message, "errors": []})
        return HttpResponse(body, status=413, content_type="application/json")
    if "text/html" in request.headers.get("Accept", ""):
        return render(request, "413.html", {"message": message}, status=413)
    return HttpResponse(message, status=413, content_type="text/plain; charset=utf-8")
