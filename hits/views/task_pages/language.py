"""Translations, language links and amounts of a HIT page."""

from decimal import Decimal
from functools import cache
from gettext import NullTranslations, translation
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.translation import get_language, get_language_info, gettext, to_locale

# Long enough for every plural rule: they depend on small numbers and on the last two digits.
_PLURALS = 200


def script_catalog() -> dict[str, Any] | None:
    """Return the catalogue for static/js/ui/i18n.js in the page's language; ``None`` in English."""
    language = get_language()
    if language in {None, settings.LANGUAGE_CODE}:
        return None
    return _load_script_catalog(str(language))


@cache
def _load_script_catalog(language: str) -> dict[str, Any] | None:
    locale, folder = to_locale(language), settings.LOCALE_PATHS[0]
    # Only our own folder: Django's catalogue would add the admin's messages.
    found = translation("djangojs", folder, [locale, locale.partition("_")[0]], fallback=True)
    entries: dict[Any, str] = getattr(found, "_catalog", {})  # as in Django: gettext has no public list
    return {"messages": _group_plurals(entries), "plurals": _plural_form_digits(found)} if entries else None


def _group_plurals(entries: dict[Any, str]) -> dict[str, str | list[str]]:
    messages: dict[str, str | list[str]] = {}
    for key in sorted(entries, key=str):
        if isinstance(key, tuple):  # (English singular, number of the form), in the order of the forms
            forms = messages.setdefault(key[0], [])
            assert isinstance(forms, list)
            forms.append(entries[key])
        elif key:
            messages[key] = entries[key]
    return messages


def _plural_form_digits(found: NullTranslations) -> str:
    form = getattr(found, "plural", lambda n: int(n != 1))
    return "".join(str(form(n)) for n in range(_PLURALS))


def language_links(request: HttpRequest) -> list[dict[str, Any]]:
    """Return each language with its own name and a link to this page in it; other parameters stay."""
    current = get_language()
    links = []
    for code, _ in settings.LANGUAGES:
        query = request.GET.copy()
        query["lang"] = code
        name = get_language_info(code)["name_local"]
        links.append(
            {"code": code, "name": name, "href": f"?{query.urlencode()}", "present": code == current}
        )
    return links


def localized_dollars(cents: int) -> str:
    """Format cents in the page's language: ``110 -> "$1.10"``, in German ``"1,10 $"``."""
    amount = number_format(Decimal(abs(cents)) / 100, decimal_pos=2, use_l10n=True, force_grouping=True)
    # Translators: an amount of US dollars, such as $1.10
    text = gettext("$%(amount)s") % {"amount": amount}
    return f"\N{MINUS SIGN}{text}" if cents < 0 else text
