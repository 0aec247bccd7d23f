"""Texts and JSON values in a form that every database stores and gives back.

What a foreign server sends may hold half a surrogate pair, the character NUL, NaN or endless nesting. JSON's reader
takes them; databases refuse them, each another part.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 64
"""Levels of lists and objects that are kept."""
MAX_INTEGER = 2**63 - 1
TOO_DEEP = f"[nested deeper than {MAX_DEPTH} levels]"
_MAX_BITS = 1024  # of an integer that is kept as a text
_UNSTORABLE_PATTERN = re.compile("[\x00\ud800-\udfff]")


def storable_text(text: str) -> str:
    """Return a text with U+FFFD in place of NUL and of surrogates, which are no characters."""
    return _UNSTORABLE_PATTERN.sub("\ufffd", text)


def storable_json(value: Any) -> Any:
    """Return a JSON value as plain dicts and lists that every database stores.

    Texts and names are those of ``storable_text``. NaN, infinities and integers of more than 64 bits become texts.
    So does everything below ``MAX_DEPTH`` levels.
    """
    return _clean(value, MAX_DEPTH)


def _clean(value: Any, levels: int) -> Any:
    if isinstance(value, Mapping | list | tuple):
        if not levels:
            return TOO_DEEP
        if isinstance(value, Mapping):
            return {storable_text(str(name)): _clean(part, levels - 1) for name, part in value.items()}
        return [_clean(part, levels - 1) for part in value]
    if _is_plain(value):
        return value
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"[integer of {value.bit_length()} bits]"
    return storable_text(str(value))


def _is_plain(value: Any) -> bool:
    if isinstance(value, int):  # true and false are numbers here
        return -MAX_INTEGER <= value <= MAX_INTEGER
    return value is None or (isinstance(value, float) and math.isfinite(value))
