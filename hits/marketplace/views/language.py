"""The language that a worker chose here, for pages of ours that see no cookie."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import get_language


def add_chosen_language(request: HttpRequest, question_url: str) -> str:
    """Return the address of a HIT page with the language chosen on the worker site, ``lang=de``.

    Only for pages of the platform's own origin, and only where a choice was made: otherwise the browser asks the
    page as it asked this one. Another requester's page is opened with MTurk's own parameters alone.
    """
    if settings.LANGUAGE_COOKIE_NAME not in request.COOKIES:
        return question_url
    if not question_url.startswith(f"{settings.HIT_ORIGIN}/"):
        return question_url
    address, hash_sign, fragment = question_url.partition("#")
    separator = "&" if "?" in address else "?"
    return f"{address}{separator}lang={get_language()}{hash_sign}{fragment}"
