"""Parse a page's report of the hints that it showed, which is stored with the submission."""

from collections.abc import Callable
from typing import Any

from hits.hints.card import MAX_QUOTE, HintField, HintRule

MAX_ROWS = 100
_MAX_CARD = 99
_RULES = frozenset(rule.value for rule in HintRule)
_FIELDS = frozenset(field.value for field in HintField)


class HintReportError(ValueError):
    """An invalid report; the message names the field."""


_ROW_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "rule": (lambda v: isinstance(v, str) and v in _RULES, "use the name of a rule"),
    "card": (
        lambda v: type(v) is int and 1 <= v <= _MAX_CARD,
        f"use a whole number from 1 to {_MAX_CARD}",
    ),
    "field": (lambda v: isinstance(v, str) and v in _FIELDS, f"use {', '.join(sorted(_FIELDS))}"),
    "quote": (
        lambda v: isinstance(v, str) and len(v) <= MAX_QUOTE,
        f"use a text of {MAX_QUOTE} characters or fewer",
    ),
    "dismissed": (lambda v: isinstance(v, bool), "use true or false"),
    "fixed": (lambda v: isinstance(v, bool), "use true or false"),
}


def parse_hint_report(raw: Any) -> list[dict[str, Any]]:
    """Return the report's rows: rule, card, field, quote, dismissed, fixed.

    Raises:
        HintReportError: not a list, over 100 rows, a missing or unknown key, or an invalid value.
    """
    if not isinstance(raw, list):
        raise HintReportError("hints: send a list")
    if len(raw) > MAX_ROWS:
        raise HintReportError(f"hints: {len(raw)} rows; send {MAX_ROWS} or fewer")
    return [_parse_row(item, f"hints[{index}]") for index, item in enumerate(raw)]


def _parse_row(item: Any, path: str) -> dict[str, Any]:
    if not isinstance(item, dict) or set(item) != set(_ROW_CHECKS):
        raise HintReportError(f"{path}: send exactly {', '.join(_ROW_CHECKS)}")
    for name, (is_valid, fix) in _ROW_CHECKS.items():
        if not is_valid(item[name]):
            raise HintReportError(f"{path}.{name}: {fix}")
    return {name: item[name] for name in _ROW_CHECKS}
