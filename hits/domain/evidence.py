"""Any kind's unit and answer as rows that a reviewer can read, without knowing the kind."""

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


def answer_rows(unit: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Row]:
    """Return an answer line by line; ratings of candidates stand beside the candidate's text."""
    rows = []
    for field, value in answer.items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            rows += [_item_row(unit, item) for item in value]
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


def _item_row(unit: Mapping[str, Any], item: Mapping[str, Any]) -> Row:
    known = {row["id"]: row.get("inference") or row.get("text") or "" for row in _listed(unit, "candidates")}
    known |= {row["id"]: row.get("text") or "" for row in _listed(unit, "inferences")}
    regions = {row["id"]: f"Region {place}" for place, row in enumerate(_listed(unit, "regions"), 1)}
    subject = next((name for name in ("candidate", "inference") if str(item.get(name)) in known), "candidate")
    about = known.get(str(item.get(subject))) or words(item.get("candidate") or item.get("id"))
    rest = [
        regions.get(str(value)) or words(value) for key, value in item.items() if key not in {subject, "id"}
    ]
    return Row(about, " · ".join(rest))


def _listed(unit: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [row for row in unit.get(name) or [] if isinstance(row, Mapping) and "id" in row]


def unit_boxes(unit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the boxes that a unit shows for the photo: one group, or one for each of its regions, or nothing."""
    regions = _listed(unit, "regions")
    if regions:
        return [
            {"index": place, "boxes": row["boxes"], "label": "Region"} for place, row in enumerate(regions, 1)
        ]
    boxes = unit.get("boxes") or []
    index = unit.get("obs_index") or 1
    return [{"index": index, "boxes": boxes, "label": "Region"}] if boxes else []
