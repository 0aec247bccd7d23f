"""Instructions as plain data: a summary, a Markdown body, worked examples; and how two versions differ."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hits.domain.images.geometry import Box

MAX_SUMMARY = 200
MAX_BODY = 20_000
MAX_LINES = 400  # comparing two versions takes time with their third power
MAX_EXAMPLES = 6
MAX_EXAMPLE_TEXT = 600
MAX_EXAMPLE_BOXES = 5
MAX_NOTE = 300
_BOX = re.compile(r"\s*(\d{1,6})[\s,]+(\d{1,6})[\s,]+(\d{1,6})[\s,]+(\d{1,6})\s*")


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example: a weak answer, one that works, and why.

    It stands beside one of the project's photos (``image``, with ``boxes`` in its pixels) or beside a drawing that
    comes with the kind (``picture``, a static path, and its ``alt``), or beside nothing. The texts are Markdown.
    """

    weak: str = ""
    good: str = ""
    why: str = ""
    image: int | None = None
    boxes: tuple[Box, ...] = ()
    picture: str = ""
    alt: str = ""

    def as_row(self) -> dict[str, Any]:
        """Return the example as it is stored."""
        row: dict[str, Any] = {"weak": self.weak, "good": self.good, "why": self.why, "image": self.image}
        row["boxes"] = [box.as_dict() for box in self.boxes]
        return row | ({"picture": self.picture, "alt": self.alt} if self.picture else {})


@dataclass(frozen=True, slots=True)
class Text:
    """What workers read: one line before the fold, a Markdown body, worked examples."""

    summary: str = ""
    body: str = ""
    examples: tuple[Example, ...] = ()

    def lines(self) -> list[str]:
        """Return the text line by line, as two versions are compared; empty lines say nothing."""
        body = (line.rstrip() for line in self.body.splitlines())
        found = [f"In one line: {self.summary}", *filter(None, body)]
        for number, example in enumerate(self.examples, start=1):
            found += [f"Example {number}, {part}" for part in _parts(example)]
        return found


class Sign(StrEnum):
    """What became of a line from one version to the next."""

    ADDED = "+"
    REMOVED = "−"
    KEPT = " "


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a difference."""

    sign: Sign
    text: str

    @property
    def word(self) -> str:
        """The sign in a word, for whoever does not see it."""
        return {Sign.ADDED: "Added", Sign.REMOVED: "Removed"}.get(self.sign, "")


def examples_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Example, ...]:
    """Return stored rows, or a kind's own, as examples; a row may leave out what it does not need."""
    return tuple(
        Example(
            weak=row.get("weak", ""),
            good=row.get("good", ""),
            why=row.get("why", ""),
            image=row.get("image"),
            boxes=tuple(Box(**box) for box in row.get("boxes", ())),
            picture=row.get("picture", ""),
            alt=row.get("alt", ""),
        )
        for row in rows
    )


def difference(before: Text, after: Text) -> list[Line]:
    """Return every line of both texts, in reading order, each with what became of it."""
    return compare(before.lines(), after.lines())


def compare(before: Sequence[str], after: Sequence[str]) -> list[Line]:
    """Return the lines of both, removed ones before those that took their place."""
    found: list[Line] = []
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for what, a_start, a_end, b_start, b_end in matcher.get_opcodes():
        if what == "equal":
            found += [Line(Sign.KEPT, text) for text in before[a_start:a_end]]
        else:
            found += [Line(Sign.REMOVED, text) for text in before[a_start:a_end]]
            found += [Line(Sign.ADDED, text) for text in after[b_start:b_end]]
    return found


def boxes_as_text(boxes: Iterable[Box]) -> str:
    """Return boxes as people type them: one a line, left, top, width and height."""
    return "\n".join(f"{box.left}, {box.top}, {box.width}, {box.height}" for box in boxes)


def boxes_from_text(text: str) -> tuple[Box, ...]:
    """Return the boxes of ``boxes_as_text``; empty lines say nothing.

    Raises:
        ValueError: a line is no box; the message repeats it.
    """
    found = []
    for line in filter(str.strip, text.splitlines()):
        match = _BOX.fullmatch(line)
        if match is None:
            raise ValueError(
                f"“{line.strip()[:40]}” is no box: use four whole numbers, such as 120, 80, 200, 150"
            )
        found.append(Box(*map(int, match.groups())))
    return tuple(found)


def _parts(example: Example) -> list[str]:
    parts = [("too plain", example.weak), ("works", example.good), ("why", example.why)]
    found = [f"{name}: {text}" for name, text in parts if text]
    if example.image is not None:
        found.append(f"photo: {example.image}")
    if example.picture:
        found.append("picture: the drawing that comes with the task")
    return found + [f"box: {line}" for line in boxes_as_text(example.boxes).splitlines()]
