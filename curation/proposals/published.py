"""Read a file of proposals such as ``image_url2auto_bboxes.json``, one image at a time.

The Sherlock corpus names that file, but no publication describes its layout; its name suggests a mapping of image
addresses to boxes. So all layouts of that kind are accepted, and the detected layout is reported:

    {"https://…/1.jpg": [[10, 20, 110, 95], …]}                    four numbers per box; a fifth is its score
    {"https://…/1.jpg": [{"left": 10, "top": 20, "width": 100, "height": 75}, …]}     also x, y, w, h, or x1 to y2
    {"https://…/1.jpg": {"boxes": …, "scores": […]}}               either of them with scores; also "bboxes"

Four bare numbers are two corners, or a corner and a size; the boxes of the whole file decide which.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from curation.proposals.boxes import find_distinct_boxes, round_to_pixels
from curation.proposals.detector import DetectedBoxes
from curation.records import InvalidInput
from curation.sources.json_stream import InvalidJson, JsonReader, open_json_reader

MAX_RECORD_CHARS = 1 << 24  # characters; 1,000 boxes have about 100,000
LAYOUT_SAMPLE_SIZE = 2_000  # entries of known images for the detection of the layout
_ROUNDING = 1.0  # pixels by which a detector's box may exceed the image
BOX_NUMBERS = 4


class BoxLayout(StrEnum):
    """The meaning of a box's four numbers."""

    CORNERS = "corners"
    """Left, top, right, bottom."""

    SIZES = "sizes"
    """Left, top, width, height."""


_KEYS = {
    ("left", "top", "width", "height"): BoxLayout.SIZES,
    ("x", "y", "w", "h"): BoxLayout.SIZES,
    ("x1", "y1", "x2", "y2"): BoxLayout.CORNERS,
}
Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RawBox:
    """Four numbers and perhaps a score from the file. ``layout`` is set if the box has keys that determine it."""

    numbers: tuple[float, float, float, float]
    score: float | None
    layout: BoxLayout | None


@dataclass(frozen=True, slots=True)
class ProposalEntry:
    """One image of the file. ``where``: file and record, for messages."""

    url: str
    boxes: tuple[RawBox, ...]
    where: str


def read_entries(path: Path) -> Iterator[ProposalEntry]:
    """Yield a file's images in order, with one in memory at a time.

    Raises:
        InvalidInput: the file cannot be read, has another format, or has a malformed record.
    """
    # NaN and infinity are reported with their box, not with their position in the file.
    with open_json_reader(path, max_length=MAX_RECORD_CHARS, lenient=True) as pieces:
        for number, (url, raw) in enumerate(_iterate_members(path, pieces), start=1):
            where = f"{path}: record {number} ({url[:80]!r})"
            yield ProposalEntry(url, _parse_boxes(raw, where), where)


def recognise_layout(path: Path, size_of: Callable[[str], Size | None]) -> BoxLayout:
    """Detect the meaning of bare numbers in a file from the first ``LAYOUT_SAMPLE_SIZE`` images of known size.

    Thousands of unknown images may come first: if few are known, the file is read to its end. A box that contradicts
    one layout does not end the search, since a later box may contradict the other.

    size_of: returns the width and height in pixels of the image at an address, or None if the image is unknown.

    Raises:
        InvalidInput: no layout fits all boxes, both do, or the numbers are shares of the image.
    """
    evidence = _LayoutEvidence()
    sized = ((entry, size_of(entry.url)) for entry in read_entries(path))
    known = ((entry, size) for entry, size in sized if size is not None)
    for entry, size in islice(known, LAYOUT_SAMPLE_SIZE):
        evidence.add(entry, size)
        if len(evidence.against) == len(BoxLayout):
            break
    return evidence.decide_layout(path)


def entry_boxes(entry: ProposalEntry, layout: BoxLayout, size: Size, *, limit: int) -> DetectedBoxes:
    """Return an entry's boxes in whole pixels of its image, best first; without scores in the file's order.

    Raises:
        InvalidInput: only some boxes have a score, or a box is outside of the image.
    """
    scored = {box.score is not None for box in entry.boxes}
    if len(scored) > 1:
        raise InvalidInput(f"{entry.where}: only some boxes have a score; give all or none a score")
    boxes = sorted(entry.boxes, key=lambda box: -(box.score or 0.0))  # stable
    corners = np.array([_box_corners(box, layout, entry, size) for box in boxes]).reshape(-1, BOX_NUMBERS)
    rounded = round_to_pixels(corners, width=size[0], height=size[1])
    selected = find_distinct_boxes(rounded)[:limit]
    found = [boxes[index].score for index in selected]
    scores = np.array(found, dtype=np.float64) if True in scored else None
    return DetectedBoxes(rounded[selected], scores)


def _box_corners(
    box: RawBox, layout: BoxLayout, entry: ProposalEntry, size: Size
) -> tuple[float, float, float, float]:
    left, top, third, fourth = box.numbers
    is_sizes = (box.layout or layout) is BoxLayout.SIZES
    right, bottom = (left + third, top + fourth) if is_sizes else (third, fourth)
    inside = left < size[0] and top < size[1] and right > 0 and bottom > 0
    if right < left or bottom < top or not inside:
        layout_label = "left, top, width, height" if is_sizes else "left, top, right, bottom"
        raise InvalidInput(
            f"{entry.where}: box {list(box.numbers)}, read as {layout_label}, is not in its image of "
            f"{size[0]} × {size[1]} pixels; check that the photo is the same, or give the other layout"
        )
    return left, top, right, bottom


@dataclass(slots=True)
class _LayoutEvidence:
    """The evidence against each layout of four bare numbers: the first box that contradicts it."""

    against: dict[BoxLayout, str] = field(default_factory=dict)
    unlabelled: int = 0
    largest: float = 0.0

    def add(self, entry: ProposalEntry, size: Size) -> None:
        for box in entry.boxes:
            if box.layout is not None:
                continue
            self.unlabelled += 1
            left, top, third, fourth = box.numbers
            self.largest = max(self.largest, *box.numbers)
            if third < left or fourth < top:
                self._rule_out(BoxLayout.CORNERS, entry, box)
            if left + third > size[0] + _ROUNDING or top + fourth > size[1] + _ROUNDING:
                self._rule_out(BoxLayout.SIZES, entry, box)
            if third > size[0] + _ROUNDING or fourth > size[1] + _ROUNDING:
                self._rule_out(BoxLayout.CORNERS, entry, box)

    def _rule_out(self, layout: BoxLayout, entry: ProposalEntry, box: RawBox) -> None:
        self.against.setdefault(layout, f"{entry.where}: box {list(box.numbers)}")

    def decide_layout(self, path: Path) -> BoxLayout:
        if not self.unlabelled:
            return BoxLayout.SIZES  # every box has keys that determine its layout
        if self.largest <= 1:
            raise InvalidInput(f"{path}: its numbers are shares of the image; write boxes in image pixels")
        possible = [layout for layout in BoxLayout if layout not in self.against]
        if len(possible) == 1:
            return possible[0]
        if not possible:
            raise InvalidInput(
                f"{self.against[BoxLayout.CORNERS]} cannot be two corners, and {self.against[BoxLayout.SIZES]} "
                "cannot be a corner and a size; use one layout in the whole file"
            )
        raise InvalidInput(
            f"{path}: its numbers may be two corners or a corner and a size; choose with --layout corners or sizes"
        )


def _parse_boxes(raw: Any, where: str) -> tuple[RawBox, ...]:
    scores = None
    if isinstance(raw, dict):
        raw, scores = _unwrap_boxes(raw, where)
    if not isinstance(raw, list):
        raise InvalidInput(f"{where}: holds {type(raw).__name__}; give a list of boxes")
    boxes = tuple(_parse_box(box, f"{where}: box {position}") for position, box in enumerate(raw, start=1))
    if scores is None:
        return boxes
    return tuple(RawBox(box.numbers, score, box.layout) for box, score in zip(boxes, scores, strict=True))


def _unwrap_boxes(raw: dict[str, Any], where: str) -> tuple[Any, list[float] | None]:
    name = next((name for name in ("boxes", "bboxes") if name in raw), None)
    if name is None:
        raise InvalidInput(
            f"{where}: has {', '.join(sorted(raw)[:6]) or 'nothing'}; give boxes, and scores if any"
        )
    boxes, scores = raw[name], raw.get("scores")
    if scores is None:
        return boxes, None
    if not isinstance(scores, list) or not isinstance(boxes, list) or len(scores) != len(boxes):
        raise InvalidInput(f"{where}: scores must be a list as long as {name}")
    numbered = enumerate(scores, start=1)
    return boxes, [_parse_number(score, f"{where}: score {position}") for position, score in numbered]


def _parse_box(raw: Any, where: str) -> RawBox:
    if isinstance(raw, dict):
        keys = next((keys for keys in _KEYS if set(keys) <= set(raw)), None)
        if keys is None:
            raise InvalidInput(f"{where} has {', '.join(sorted(raw)[:6])}; give left, top, width and height")
        left, top, third, fourth = (_parse_number(raw[key], f"{where}: {key}") for key in keys)
        score = raw.get("score")
        given = None if score is None else _parse_number(score, f"{where}: score")
        return RawBox((left, top, third, fourth), given, _KEYS[keys])
    if not isinstance(raw, list) or len(raw) not in (BOX_NUMBERS, BOX_NUMBERS + 1):
        raise InvalidInput(f"{where} is {json.dumps(raw)[:60]}; give four numbers, or five with a score")
    left, top, third, fourth, *extra = (_parse_number(value, where) for value in raw)
    return RawBox((left, top, third, fourth), extra[0] if extra else None, None)


def _parse_number(raw: Any, where: str) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw):
        raise InvalidInput(f"{where} is {json.dumps(raw)[:40]}; give a finite number")
    return float(raw)


def _iterate_members(path: Path, pieces: JsonReader) -> Iterator[tuple[str, Any]]:
    """Yield the keys and values of a file that is one object."""

    def syntax_error(expected: str) -> InvalidInput:
        return InvalidInput(f"{path}: invalid at character {pieces.character:,}; expected {expected}")

    def value() -> Any:
        try:
            return pieces.read_value()
        except InvalidJson as error:
            raise syntax_error("a complete JSON value") from error

    if pieces.next_character() != "{":
        raise InvalidInput(f'{path}: is not an object of the form {{"image address": [boxes]}}')
    closing = pieces.peek() == "}"
    if closing:
        pieces.next_character()
    while not closing:
        key = value()
        if not isinstance(key, str) or pieces.next_character() != ":":
            raise syntax_error("an image address and a colon")
        yield key, value()
        separator = pieces.next_character()
        if separator not in {",", "}"}:
            raise syntax_error("a comma or the closing bracket")
        closing = separator == "}"
    if pieces.peek():
        raise syntax_error("the end of the file")
