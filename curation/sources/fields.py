"""Take single fields out of records that others wrote, with messages that name the place and the field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from curation.records import InvalidInput

LARGEST = 10**9
LARGEST_ID = 2**63 - 1  # one region of the published file has an id of twelve digits


def record_of(value: Any, place: str) -> Mapping[str, Any]:
    """Return a JSON object.

    Raises:
        InvalidInput: it is something else.
    """
    if not isinstance(value, dict):
        raise InvalidInput(f"{place}: is {type(value).__name__}, not an object with named fields")
    return value


def whole(record: Mapping[str, Any], name: str, place: str, *, least: int = 0, most: int = LARGEST) -> int:
    """Return a whole number from ``least`` to ``most``.

    Raises:
        InvalidInput: it is missing, something else, or out of range.
    """
    value = record.get(name)
    if type(value) is not int or not least <= value <= most:
        raise InvalidInput(f"{place}: {name} is {_short(value)}; it must be a whole number from {least}")
    return value


def optional_id(record: Mapping[str, Any], name: str, place: str) -> int | None:
    """Return an id of another collection, which many records lack.

    Raises:
        InvalidInput: it is there and no whole number.
    """
    value = record.get(name)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= LARGEST_ID:
        raise InvalidInput(f"{place}: {name} is {_short(value)}; it must be a whole number or null")
    return value


def number(value: Any, name: str, place: str) -> float:
    """Return a finite number.

    Raises:
        InvalidInput: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{place}: {name} is {_short(value)}; it must be a number")
    try:
        plain = float(value)
    except OverflowError:
        plain = math.inf
    if not math.isfinite(plain):
        raise InvalidInput(f"{place}: {name} is too large a number")
    return plain


def text_of(record: Mapping[str, Any], name: str, place: str) -> str:
    """Return a text that is not empty.

    Raises:
        InvalidInput: it is missing, empty or no text.
    """
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{place}: {name} is {_short(value)}; it must be a text")
    return value


def list_of(record: Mapping[str, Any], name: str, place: str) -> list[Any]:
    """Return a list, which may be empty.

    Raises:
        InvalidInput: it is missing or no list.
    """
    value = record.get(name)
    if not isinstance(value, list):
        raise InvalidInput(f"{place}: {name} is {_short(value)}; it must be a list")
    return value


def clean(text: str) -> str:
    """Return a text that every database takes: no NUL, no half of a surrogate pair, no space at the ends."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode().strip()


def _short(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= 40 else f"{words[:39]}…"  # noqa: PLR2004 - characters
