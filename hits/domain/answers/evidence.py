"""Turn the answer of any kind into rows that a reviewer can read."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from hits.domain.answers.labels import field_labels, item_schema

_LABEL_PATTERN = re.compile(r"[a-z0-9]+(_[a-z0-9]+)+")


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One row of an answer: the label of a field, and its value as text."""

    label: str
    value: str


def humanize(value: Any) -> str:
    """Return a name or label as people read it: ``entirely_off`` becomes ``Entirely off``. Not for free text."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list):
        return ", ".join(humanize(item) for item in value) or "–"
    text = "–" if value is None or value == "" else str(value)
    if " " in text:
        return text
    text = text.replace("_", " ")
    return text[:1].upper() + text[1:]


def answer_rows(answer: Mapping[str, Any], schema: Any = None) -> list[EvidenceRow]:
    """Return one row for each field of an answer, and one for each object in a list of objects.

    ``schema`` is what the answer was checked with. It separates labels, which are humanized, from free text, which is
    shown unchanged. Without a schema, only values that look like a label (``entirely_off``) are humanized.
    """
    rows = []
    for field, value in answer.items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            inner = item_schema(schema, field)
            rows += [_item_row(field, number, item, inner) for number, item in enumerate(value, start=1)]
        elif _is_submitted_form(value):
            rows += [EvidenceRow(name, text or "–") for name, text in value]
        else:
            rows.append(EvidenceRow(humanize(field), _describe_value(value, field_labels(schema, field))))
    return rows


def _describe_value(value: Any, labels: Collection[str] | None) -> str:
    """Return a value as text: labels humanized, free text unchanged. ``labels`` is ``None`` without a schema."""
    if isinstance(value, list):
        return ", ".join(_describe_value(item, labels) for item in value) or "–"
    if not isinstance(value, str) or not value:
        return humanize(value)
    is_label = _LABEL_PATTERN.fullmatch(value) if labels is None else value in labels
    return humanize(value) if is_label else value


def _is_submitted_form(value: Any) -> bool:
    """Return whether a value is a submitted form: rows of a name and a text."""
    return isinstance(value, list) and bool(value) and all(_is_form_field(row) for row in value)


def _is_form_field(row: Any) -> bool:
    match row:
        case [str(), str()]:
            return True
    return False


def _item_row(field: str, number: int, item: Mapping[str, Any], schema: Any) -> EvidenceRow:
    name = item.get("id")
    label = str(name) if name is not None else f"{humanize(field)} {number}"
    values = (_describe_value(value, field_labels(schema, key)) for key, value in item.items() if key != "id")
    return EvidenceRow(label, " · ".join(values))
