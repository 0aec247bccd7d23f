"""Read single fields of foreign records, with messages that name the location and the field."""

import math
from collections.abc import Mapping
from typing import Any

from curation.records import InvalidInput
from hits.domain.answers.text import shorten_text

MAX_INTEGER = 10**9
MAX_ID = 2**63 - 1  # one region of the published file has an id of twelve digits


def require_object(value: Any, where: str) -> Mapping[str, Any]:
    """Return a JSON object.

    Raises:
        InvalidInput: the value is not an object.
    """
    if not isinstance(value, dict):
        raise InvalidInput(f"{where}: is {type(value).__name__}, not an object with named fields")
    return value


def require_integer(
    record: Mapping[str, Any], name: str, where: str, *, minimum: int = 0, maximum: int = MAX_INTEGER
) -> int:
    """Return an integer from ``minimum`` to ``maximum``.

    Raises:
        InvalidInput: it is missing, not an integer, or out of range.
    """
    value = record.get(name)
    if type(value) is not int or not minimum <= value <= maximum:
        raise InvalidInput(f"{where}: {name} is {_shorten(value)}; it must be a whole number from {minimum}")
    return value


def optional_id(record: Mapping[str, Any], name: str, where: str) -> int | None:
    """Return an id of another collection, or None: many records lack it.

    Raises:
        InvalidInput: it is neither missing nor an integer.
    """
    value = record.get(name)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= MAX_ID:
        raise InvalidInput(f"{where}: {name} is {_shorten(value)}; it must be a whole number or null")
    return value


def require_number(value: Any, name: str, where: str) -> float:
    """Return a finite number.

    Raises:
        InvalidInput: the value is not a finite number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{where}: {name} is {_shorten(value)}; it must be a number")
    try:
        converted = float(value)
    except OverflowError:
        converted = math.inf
    if not math.isfinite(converted):
        raise InvalidInput(f"{where}: {name} is too large a number")
    return converted


def require_text(record: Mapping[str, Any], name: str, where: str) -> str:
    """Return a non-empty text.

    Raises:
        InvalidInput: it is missing, empty or not a text.
    """
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{where}: {name} is {_shorten(value)}; it must be a text")
    return value


def require_list(record: Mapping[str, Any], name: str, where: str) -> list[Any]:
    """Return a list, which may be empty.

    Raises:
        InvalidInput: it is missing or not a list.
    """
    value = record.get(name)
    if not isinstance(value, list):
        raise InvalidInput(f"{where}: {name} is {_shorten(value)}; it must be a list")
    return value


def clean_text(text: str) -> str:
    """Return a text that every database accepts: without NUL, half surrogate pairs and outer whitespace."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode().strip()


def _shorten(value: Any) -> str:
    return shorten_text(repr(value), 40)
