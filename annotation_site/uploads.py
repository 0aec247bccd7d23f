"""How much may be sent to addresses that take files from anybody who holds a key."""

import json
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

_PLACES = ("/leaderboards/", "/api/leaderboards/")
_ENVELOPE = 64 * 1024  # of a form around its file


class UploadLimitMiddleware:
    """Turns away what is larger than a leaderboard takes, before a byte of it is read.

    Later parts of the chain look at a form's fields, and a form is read whole, its files to disk, before they can.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Compare the length that is announced; nothing is read beyond it, nor without it."""
        if not request.path.startswith(_PLACES):
            return self.get_response(request)
        announced = request.META.get("CONTENT_LENGTH") or "0"
        if announced.isdecimal() and int(announced) <= settings.LEADERBOARD_MAX_BYTES + _ENVELOPE:
            return self.get_response(request)
        words = (
            f"file: is larger than {settings.LEADERBOARD_MAX_BYTES} bytes; save float32 and compress the zip"
        )
        if request.path.startswith("/api/"):
            body = json.dumps({"error": words, "errors": []})
            return HttpResponse(body, status=413, content_type="application/json")
        return HttpResponse(words, status=413, content_type="text/plain; charset=utf-8")
