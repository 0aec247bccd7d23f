"""The language that a worker chose on this site, for the platform's task pages, which get no cookie."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language


def add_language_if_chosen(request: HttpRequest, question_url: str) -> str:
    """Return the URL of a HIT page with the language chosen on the worker site, ``lang=de``.

    Only for pages of the platform's own origin, and only if the worker chose a language: otherwise the browser's
    header decides. Other requesters' pages get MTurk's own parameters only.
    """
    if settings.LANGUAGE_COOKIE_NAME not in request.COOKIES:
        return question_url
    if not question_url.startswith(f"{settings.HIT_ORIGIN}/"):
        return question_url
    address, hash_sign, fragment = question_url.partition("#")
    separator = "&" if "?" in address else "?"
    return f"{address}{separator}lang={get_language()}{hash_sign}{fragment}"
