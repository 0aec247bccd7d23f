"""Any kind's answer as rows that a reviewer can read, without knowing the kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an answer: what it is about, and what was said."""

    about: str
    said: str


def words(value: Any) -> str:
    """Return a value as people read it: ``entirely_off`` becomes ``Entirely off``."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list):
        return ", ".join(words(item) for item in value) or "–"
    text = "–" if value is None or value == "" else str(value)
    if " " in text:
        return text
    text = text.replace("_", " ")
    return text[:1].upper() + text[1:]


def answer_rows(answer: Mapping[str, Any]) -> list[Row]:
    """Return an answer line by line, by its fields; each row of a list of objects is a line of its own."""
    rows = []
    for field, value in answer.items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            rows += [_item_row(field, place, item) for place, item in enumerate(value, start=1)]
        elif _is_form(value):
            rows += [Row(name, said or "–") for name, said in value]
        else:
            rows.append(Row(words(field), words(value)))
    return rows


def _is_form(value: Any) -> bool:
    """Tell whether a value is a form as it was sent: rows of a name and a text."""
    return isinstance(value, list) and bool(value) and all(_is_field(row) for row in value)


def _is_field(row: Any) -> bool:
    match row:
        case [str(), str()]:
            return True
    return False


def _item_row(field: str, place: int, item: Mapping[str, Any]) -> Row:
    name = item.get("id")
    about = words(name) if name is not None else f"{words(field)} {place}"
    return Row(about, " · ".join(words(value) for key, value in item.items() if key != "id"))
