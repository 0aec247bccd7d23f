"""Which parsed JSON can be kept by every database and carried by every reply."""

import math
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 32
LARGEST = 2**63 - 1  # what a database's whole numbers end at
# JSON can write NUL and halves of surrogate pairs; PostgreSQL refuses the first, UTF-8 the second.
_UNKEPT = re.compile("[\x00\ud800-\udfff]")


def unkept(value: Any, path: str = "", *, envelope: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield path and fault of what cannot be kept; paths as kinds write them (``observations[0].clue``).

    ``envelope`` is a name that paths leave out: a page knows its answer's fields by their own names.
    """
    if depth > MAX_DEPTH:
        yield path, f"is nested more than {MAX_DEPTH} deep"
    elif isinstance(value, dict):
        for key, item in value.items():
            if _UNKEPT.search(key):
                yield path, "has a name with a control character: remove it"
                return
            if _is_looked_into(item):
                inside = key if path in ("", envelope) else f"{path}.{key}"
                yield from unkept(item, inside, envelope=envelope, depth=depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if _is_looked_into(item):
                yield from unkept(item, f"{path}[{index}]", envelope=envelope, depth=depth + 1)
    else:
        problem = _problem(value)
        if problem:
            yield path, problem


def _is_looked_into(value: Any) -> bool:
    """Tell whether something may be wrong with a value, so that paths of all others are never written."""
    return isinstance(value, dict | list) or bool(_problem(value))


def readable(text: str) -> str:
    """Return a text without the characters that no database keeps, to say what was wrong with them."""
    return _UNKEPT.sub("\N{REPLACEMENT CHARACTER}", text)


def _problem(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "is too large a number"
    if type(value) is int and abs(value) > LARGEST:
        return "is too large a number"
    found = _UNKEPT.search(value) if isinstance(value, str) else None
    return f"contains the control character U+{ord(found[0]):04X}: remove it" if found else ""
