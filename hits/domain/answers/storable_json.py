"""Find values in parsed JSON that a database or a JSON reply cannot contain."""

import math
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 32
MAX_INTEGER = 2**63 - 1  # the largest integer of a database column
# JSON can contain NUL and halves of surrogate pairs; PostgreSQL refuses the first, UTF-8 the second.
_UNSTORABLE_CHARACTER_PATTERN = re.compile("[\x00\ud800-\udfff]")


def find_unstorable(
    value: Any, path: str = "", *, envelope: str = "", depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Yield the path and the problem of each value that cannot be stored, such as ``observations[0].clue``.

    ``envelope`` is a top-level key that paths omit, because a page names its answer's fields without it.
    """
    if depth > MAX_DEPTH:
        yield path, f"is nested more than {MAX_DEPTH} deep"
    elif isinstance(value, dict):
        for key, item in value.items():
            if _UNSTORABLE_CHARACTER_PATTERN.search(key):
                yield path, "has a name with a control character: remove it"
                return
            if _needs_check(item):
                item_path = key if path in ("", envelope) else f"{path}.{key}"
                yield from find_unstorable(item, item_path, envelope=envelope, depth=depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if _needs_check(item):
                yield from find_unstorable(item, f"{path}[{index}]", envelope=envelope, depth=depth + 1)
    else:
        problem = _describe_storage_problem(value)
        if problem:
            yield path, problem


def _needs_check(value: Any) -> bool:
    """Return whether a value may have a problem, so that no path is built for the others."""
    return isinstance(value, dict | list) or bool(_describe_storage_problem(value))


def replace_unstorable(text: str) -> str:
    """Return a text with a replacement for each character that no database stores, for use in messages."""
    return _UNSTORABLE_CHARACTER_PATTERN.sub("\N{REPLACEMENT CHARACTER}", text)


def _describe_storage_problem(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "is too large a number"
    if type(value) is int and abs(value) > MAX_INTEGER:
        return "is too large a number"
    found = _UNSTORABLE_CHARACTER_PATTERN.search(value) if isinstance(value, str) else None
    return f"contains the control character U+{ord(found[0]):04X}: remove it" if found else ""
