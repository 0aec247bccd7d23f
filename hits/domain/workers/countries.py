"""Countries and territories: the codes of ISO 3166-1 alpha-2 with a short English name (``countries.toml``)."""

import re
import tomllib
import unicodedata
from datetime import timedelta
from pathlib import Path

CHANGE_INTERVAL = timedelta(days=30)  # between two changes, so that nobody alternates countries

COUNTRIES: dict[str, str] = tomllib.loads(Path(__file__).with_name("countries.toml").read_text("utf-8"))


def is_country(code: str) -> bool:
    """Return whether a code is one of ISO 3166-1 alpha-2, in capitals."""
    return code in COUNTRIES


def parse_country_code_or_empty(typed: str) -> str:
    """Return a typed code in capitals, or an empty text. “ß” is not SS, although ``upper`` makes it so."""
    code = typed.strip().upper()
    return code if typed.isascii() and is_country(code) else ""


def country_name_or_code(code: str) -> str:
    """Return the English name, or the code itself if it is unknown."""
    return COUNTRIES.get(code, code)


def parse_countries(text: str) -> tuple[str, ...]:
    """Return the distinct codes of a typed list of countries, by code or name, separated by commas.

    Raises:
        ValueError: an item is not a country; the message quotes it.
    """
    names = {_fold_accents(name): code for code, name in COUNTRIES.items()}
    found = []
    for item in filter(None, (part.strip() for part in re.split(r"[,;\n]", text))):
        code = parse_country_code_or_empty(item) or names.get(_fold_accents(item))
        if code is None:
            raise ValueError(
                f"“{item[:40]}” is not a country: use a code such as US, or the name in the list"
            )
        found.append(code)
    return tuple(dict.fromkeys(found))


def list_countries_by_name() -> list[tuple[str, str]]:
    """Return ``(code, name)`` sorted by name, without regard to accents."""
    return sorted(COUNTRIES.items(), key=lambda pair: _fold_accents(pair[1]))


def _fold_accents(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name)
    return "".join(char for char in decomposed if not unicodedata.combining(char)).casefold()
