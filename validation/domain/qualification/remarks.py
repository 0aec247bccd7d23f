"""Where a trainer's remark hangs: on the whole, on an observation, on one of its fields, or on one box."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hits.observing.remarks import PARTS

PREFIX = "remark-"
_NAME = re.compile(rf"{PREFIX}(?:whole|([1-5])(?:-({'|'.join(PARTS)})(?:-([1-9]\d?))?)?)")


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a remark; ``box`` counts from 1. Nothing but ``None`` means the whole."""

    observation: int | None = None
    part: str | None = None
    box: int | None = None

    @property
    def field(self) -> str:
        """The name of the form's field for this place, such as ``remark-2-boxes-1``."""
        if self.observation is None:
            return f"{PREFIX}whole"
        return PREFIX + "-".join(str(p) for p in (self.observation, self.part, self.box) if p is not None)

    def row(self, text: str) -> dict[str, Any]:
        """Return the remark as it is stored."""
        return {"observation": self.observation, "part": self.part, "box": self.box, "text": text}


def place_of(row: Mapping[str, Any]) -> Place:
    """Return the place of a stored remark."""
    return Place(row.get("observation"), row.get("part"), row.get("box"))


def place_named(field: str) -> Place | None:
    """Return the place that a form's field stands for, or ``None`` of any other name."""
    found = _NAME.fullmatch(field)
    if found is None:
        return None
    index, part, box = found.groups()
    if box is not None and part != "boxes":
        return None
    return Place(int(index) if index else None, part, int(box) if box else None)


def remarks_from(fields: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the remarks of a form's fields in the order of their places; empty ones are left out."""
    found = [(place_named(name), text.strip()) for name, text in fields]
    kept = [(place, text) for place, text in found if place is not None and text]
    kept.sort(key=lambda pair: _order(pair[0]))
    return [place.row(text) for place, text in kept]


def words(place: Place, letters: str = "") -> str:
    """Return a place as people read it: “The whole attempt”, “Observation 2”, “Clue of 2”, “Box 2b”."""
    if place.observation is None:
        return "The whole attempt"
    if place.part is None:
        return f"Observation {place.observation}"
    if place.box is not None:
        return f"Box {letters or f'{place.box} of observation {place.observation}'}"
    return f"{place.part.capitalize()} of {place.observation}"


def lines_of(remarks: Iterable[Mapping[str, Any]], boxes: Mapping[int, list[str]]) -> list[tuple[str, str]]:
    """Return stored remarks as (where, what); ``boxes`` are the labels of each observation's boxes."""
    lines = []
    for remark in remarks:
        place = place_of(remark)
        tabs = boxes.get(place.observation or 0, [])
        label = tabs[place.box - 1] if place.box and place.box <= len(tabs) else ""
        lines.append((words(place, label), remark["text"]))
    return lines


def _order(place: Place) -> tuple[int, int, int]:
    part = -1 if place.part is None else PARTS.index(place.part)
    return (place.observation or 0, part, place.box or 0)
