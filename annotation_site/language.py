"""Choose the language of a page. Worker pages are translated; the console, the admin and the APIs are English."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from annotation_site.middleware import Middleware

# The HIT pages with their API, and the worker site with the pages that answer externalSubmit in its frame.
_TRANSLATED_PATHS = ("/hit/", "/work", "/a/", "/mturk/externalSubmit")
_HIT_PATH = "/hit/"
LANGUAGE_PARAMETER = "lang"


class WorkerLanguageMiddleware(Middleware):
    """Django's LocaleMiddleware for translated pages, English for the others.

    A HIT page has no cookie, so its address may name the language: ``?lang=de``. Otherwise the worker site's cookie
    decides, then the browser. The thread's language is restored after each request.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer in the language of the path and the worker."""
        translated = request.path_info.startswith(_TRANSLATED_PATHS)
        language = _select_language(request) if translated else settings.LANGUAGE_CODE
        request.LANGUAGE_CODE = language  # as LocaleMiddleware sets it
        with translation.override(language):
            response = self.get_response(request)
        if translated:
            patch_vary_headers(response, ("Accept-Language",))
            response.headers.setdefault("Content-Language", language)
        return response


def _select_language(request: HttpRequest) -> str:
    if request.path_info.startswith(_HIT_PATH):
        try:
            return translation.get_supported_language_variant(request.GET.get(LANGUAGE_PARAMETER, ""))
        except LookupError:
            pass  # no language requested, or an unknown one
    return translation.get_language_from_request(request)
