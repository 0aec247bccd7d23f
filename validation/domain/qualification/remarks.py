"""The target of a trainer's remark: the whole attempt, an observation, one of its fields, or one box."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hits.observing.remarks import CARD_FIELDS

FIELD_PREFIX = "remark-"
_FIELD_NAME_PATTERN = re.compile(
    rf"{FIELD_PREFIX}(?:whole|([1-5])(?:-({'|'.join(CARD_FIELDS)})(?:-([1-9]\d?))?)?)"
)


@dataclass(frozen=True, slots=True)
class RemarkTarget:
    """The target of a remark; ``observation`` and ``box`` count from 1. No observation: the whole attempt."""

    observation: int | None = None
    part: str | None = None
    box: int | None = None

    @property
    def field(self) -> str:
        """The name of the target's form field, such as ``remark-2-boxes-1``."""
        if self.observation is None:
            return f"{FIELD_PREFIX}whole"
        keys = (self.observation, self.part, self.box)
        return FIELD_PREFIX + "-".join(str(key) for key in keys if key is not None)

    def as_row(self, text: str) -> dict[str, Any]:
        """Return the remark as data to store."""
        return {"observation": self.observation, "part": self.part, "box": self.box, "text": text}


def target_from_row(row: Mapping[str, Any]) -> RemarkTarget:
    """Return the target of a stored remark."""
    return RemarkTarget(row.get("observation"), row.get("part"), row.get("box"))


def target_from_field(field: str) -> RemarkTarget | None:
    """Return the target of a form field, or ``None`` for any other name."""
    match = _FIELD_NAME_PATTERN.fullmatch(field)
    if match is None:
        return None
    index, part, box = match.groups()
    if box is not None and part != "boxes":
        return None
    return RemarkTarget(int(index) if index else None, part, int(box) if box else None)


def parse_remarks(fields: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the remarks of a form's fields in the order of their targets; empty ones are left out."""
    pairs = [(target_from_field(name), text.strip()) for name, text in fields]
    targeted = [(target, text) for target, text in pairs if target is not None and text]
    targeted.sort(key=lambda pair: _sort_key(pair[0]))
    return [target.as_row(text) for target, text in targeted]


def describe_target(target: RemarkTarget, letters: str = "") -> str:
    """Return a target as text: “The whole attempt”, “Observation 2”, “Clue of observation 2”, “Box 2b”."""
    if target.observation is None:
        return "The whole attempt"
    if target.part is None:
        return f"Observation {target.observation}"
    if target.box is not None:
        return f"Box {letters or f'{target.box} of observation {target.observation}'}"
    return f"{target.part.capitalize()} of observation {target.observation}"


def remark_rows(
    remarks: Iterable[Mapping[str, Any]], boxes: Mapping[int, list[str]]
) -> list[tuple[str, str]]:
    """Return stored remarks as (target, text); ``boxes`` has each observation's box labels, such as “2b”."""
    rows = []
    for remark in remarks:
        target = target_from_row(remark)
        box_labels = boxes.get(target.observation or 0, [])
        label = box_labels[target.box - 1] if target.box and target.box <= len(box_labels) else ""
        rows.append((describe_target(target, label), remark["text"]))
    return rows


def _sort_key(target: RemarkTarget) -> tuple[int, int, int]:
    part = -1 if target.part is None else CARD_FIELDS.index(target.part)
    return (target.observation or 0, part, target.box or 0)
