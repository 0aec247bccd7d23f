"""Two origins, one server.

``HIT_ORIGIN`` serves the HIT pages, static files and images, and never sees or sets a cookie;
``PUBLIC_URL`` serves everything else. A path asked for under the wrong name is not found. So the
HIT frame is cross-site in the demo as it is on a marketplace that somebody else runs.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound

_SHARED = ("/static/", "/favicon")
_HIT_ONLY = ("/hit/", "/media/images/")


def is_hit_origin(request: HttpRequest) -> bool:
    """Tell whether the request was addressed to ``HIT_ORIGIN``."""
    return request.META.get("HTTP_HOST", "") == urlsplit(settings.HIT_ORIGIN).netloc


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
