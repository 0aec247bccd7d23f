"""Any kind's answer as rows that a reviewer can read, without knowing the kind."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from hits.domain.answers.labels import labels_of, schema_of

_LOOKS_LIKE_A_LABEL = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an answer: what it is about, and what was said."""

    about: str
    said: str


def words(value: Any) -> str:
    """Return a name or a label as people read it: ``entirely_off`` becomes ``Entirely off``; no free text."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list):
        return ", ".join(words(item) for item in value) or "–"
    text = "–" if value is None or value == "" else str(value)
    if " " in text:
        return text
    text = text.replace("_", " ")
    return text[:1].upper() + text[1:]


def answer_rows(answer: Mapping[str, Any], schema: Any = None) -> list[Row]:
    """Return an answer line by line, by its fields; each row of a list of objects is a line of its own.

    ``schema`` is what the answer was checked with: it tells labels, which are put into words, from free text, which
    is shown to the letter. Without one, only what looks like a label (``entirely_off``) is put into words.
    """
    rows = []
    for field, value in answer.items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            inner = schema_of(schema, field)
            rows += [_item_row(field, place, item, inner) for place, item in enumerate(value, start=1)]
        elif _is_form(value):
            rows += [Row(name, said or "–") for name, said in value]
        else:
            rows.append(Row(words(field), _value(value, labels_of(schema, field))))
    return rows


def _value(value: Any, labels: Collection[str] | None) -> str:
    """Return a value of an answer: labels in words, text to the letter; ``labels`` is ``None`` where nobody knows."""
    if isinstance(value, list):
        return ", ".join(_value(item, labels) for item in value) or "–"
    if not isinstance(value, str) or not value:
        return words(value)
    is_label = _LOOKS_LIKE_A_LABEL.fullmatch(value) if labels is None else value in labels
    return words(value) if is_label else value


def _is_form(value: Any) -> bool:
    """Tell whether a value is a form as it was sent: rows of a name and a text."""
    return isinstance(value, list) and bool(value) and all(_is_field(row) for row in value)


def _is_field(row: Any) -> bool:
    match row:
        case [str(), str()]:
            return True
    return False


def _item_row(field: str, place: int, item: Mapping[str, Any], schema: Any) -> Row:
    name = item.get("id")
    about = str(name) if name is not None else f"{words(field)} {place}"
    said = (_value(value, labels_of(schema, key)) for key, value in item.items() if key != "id")
    return Row(about, " · ".join(said))
