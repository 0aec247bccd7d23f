"""What a page reports about the hints that it showed: checked before it is kept with a submission."""

from collections.abc import Callable
from typing import Any

from hits.hints.card import LONGEST_QUOTE, Field, Rule

MOST_ROWS = 100
_HIGHEST_CARD = 99
_RULES = frozenset(rule.value for rule in Rule)
_FIELDS = frozenset(field.value for field in Field)


class BadReport(ValueError):
    """A report that cannot be kept; the message names the field."""


_PARTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "rule": (lambda v: isinstance(v, str) and v in _RULES, "use the name of a rule"),
    "card": (
        lambda v: type(v) is int and 1 <= v <= _HIGHEST_CARD,
        f"use a whole number from 1 to {_HIGHEST_CARD}",
    ),
    "field": (lambda v: isinstance(v, str) and v in _FIELDS, f"use {', '.join(sorted(_FIELDS))}"),
    "quote": (
        lambda v: isinstance(v, str) and len(v) <= LONGEST_QUOTE,
        f"use a text of {LONGEST_QUOTE} characters or fewer",
    ),
    "dismissed": (lambda v: isinstance(v, bool), "use true or false"),
    "fixed": (lambda v: isinstance(v, bool), "use true or false"),
}


def parse_shown(raw: Any) -> list[dict[str, Any]]:
    """Return the report's rows: rule, card, field, quote, dismissed, fixed.

    Raises:
        BadReport: no list, over 100 rows, a missing or foreign part, or a value that cannot be.
    """
    if not isinstance(raw, list):
        raise BadReport("hints: send a list")
    if len(raw) > MOST_ROWS:
        raise BadReport(f"hints: {len(raw)} rows; send {MOST_ROWS} or fewer")
    return [_row(item, f"hints[{place}]") for place, item in enumerate(raw)]


def _row(item: Any, path: str) -> dict[str, Any]:
    if not isinstance(item, dict) or set(item) != set(_PARTS):
        raise BadReport(f"{path}: send exactly {', '.join(_PARTS)}")
    for name, (fits, mend) in _PARTS.items():
        if not fits(item[name]):
            raise BadReport(f"{path}.{name}: {mend}")
    return {name: item[name] for name in _PARTS}
