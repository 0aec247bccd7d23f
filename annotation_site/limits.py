"""How much may be sent to which address: little, except where files are taken, from somebody who may send them.

Later parts of the chain look at a form's fields, and a form is read whole, its files to disk, before they can. So
what is too large is turned away by its announced length, before a byte of it is read. A body without an announced
length is never read: Django gives a view nothing of it.
"""

import json
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve

from hits.selectors.roles import projects_of

MIB = 1024 * 1024
SMALL = 3 * MIB  # of any address: a form of texts, a requester's call, a draft
_ENVELOPE = 64 * 1024  # of a form around its file
# Addresses that take files from who works on a project, by their names.
UPLOADS = {
    "project-images": 100 * MIB,
    "image-add": 41 * MIB,  # one photo of at most 40
    "images-manifest": 20 * MIB,
    "images-zip": 2048 * MIB,
    "project-templates": 20 * MIB,
    "units-new": 66 * MIB,
    "template-detail": 20 * MIB,
    "results-upload": 60 * MIB,
    "curation-texts-run": 66 * MIB,
    "curation-audits": 4 * MIB,
    "marketplace:payout-import": 10 * MIB,
}
LEADERBOARD_PLACES = ("/leaderboards/", "/api/leaderboards/")


class BodyLimitMiddleware:
    """Compares the length that is announced with what the address takes from this sender."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer 413 to what is too large; nothing of it is read."""
        announced = request.META.get("CONTENT_LENGTH") or "0"
        length = int(announced) if announced.isascii() and announced.isdecimal() else None
        if length is not None and length <= self._limit(request, length):
            return self.get_response(request)
        return _too_large(request)

    @staticmethod
    def _limit(request: HttpRequest, length: int) -> int:
        """Look an address up only where that can matter: most requests are small."""
        own = length > SMALL or request.path.startswith(LEADERBOARD_PLACES)
        return limit_of(request) if own else SMALL


def limit_of(request: HttpRequest) -> int:
    """Return how many bytes the address takes in one request from whoever asks."""
    if request.path.startswith(LEADERBOARD_PLACES):
        return int(settings.LEADERBOARD_MAX_BYTES) + _ENVELOPE  # a team's key stands in the body
    try:
        name = resolve(request.path_info).view_name
    except Resolver404:
        return SMALL
    largest = UPLOADS.get(name, SMALL)
    # Only who works on a project may send files there: an unknown sender's, or a worker's, are not even received.
    return largest if largest <= SMALL or projects_of(request.user).exists() else SMALL


def _too_large(request: HttpRequest) -> HttpResponse:
    limit = limit_of(request)
    if request.path.startswith(LEADERBOARD_PLACES):
        words = (
            f"file: is larger than {settings.LEADERBOARD_MAX_BYTES} bytes; save float32 and compress the zip"
        )
    else:
        words = f"This is too large: at most {limit // MIB} MB can be sent here at once. Send less at a time."
    if request.path.startswith(("/api/", "/hit/api/")):
        body = json.dumps({"error": words, "errors": []})
        return HttpResponse(body, status=413, content_type="application/json")
    if "text/html" in request.headers.get("Accept", ""):
        return render(request, "413.html", {"words": words}, status=413)
    return HttpResponse(words, status=413, content_type="text/plain; charset=utf-8")
