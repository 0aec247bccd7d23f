"""Which language a page is in. Workers read theirs; the console, the admin and the APIs are English throughout."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

# The HIT pages with their API, and the worker site with the pages that answer externalSubmit in its frame.
_TRANSLATED = ("/hit/", "/work", "/a/", "/mturk/externalSubmit")
_HIT = "/hit/"
PARAMETER = "lang"


class WorkerLanguageMiddleware:
    """Django's LocaleMiddleware for the pages that are translated, English for the others.

    A HIT page has no cookie, so its language may stand in its address, ``?lang=de``. Otherwise the worker site's
    cookie decides, then the browser. The language is put back after each request: nothing of it is left in the
    thread.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer in the language of the path and the reader."""
        translated = request.path_info.startswith(_TRANSLATED)
        language = _language(request) if translated else settings.LANGUAGE_CODE
        request.LANGUAGE_CODE = language  # as LocaleMiddleware sets it
        with translation.override(language):
            response = self.get_response(request)
        if translated:
            patch_vary_headers(response, ("Accept-Language",))
            response.headers.setdefault("Content-Language", language)
        return response


def _language(request: HttpRequest) -> str:
    if request.path_info.startswith(_HIT):
        try:
            return translation.get_supported_language_variant(request.GET.get(PARAMETER, ""))
        except LookupError:
            pass  # none asked for, or one that there is not
    return translation.get_language_from_request(request)
