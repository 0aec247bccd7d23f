"""Instructions as plain data (a summary, a Markdown body, worked examples), and the difference of two versions."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hits.domain.images.geometry import Box

MAX_SUMMARY = 200
MAX_BODY = 20_000
MAX_LINES = 400  # the time to compare two versions grows with the third power
MAX_EXAMPLES = 6
MAX_EXAMPLE_TEXT = 600
MAX_EXAMPLE_BOXES = 5
MAX_NOTE = 300
_BOX_PATTERN = re.compile(r"\s*(\d{1,6})[\s,]+(\d{1,6})[\s,]+(\d{1,6})[\s,]+(\d{1,6})\s*")


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example: a weak answer, one that works, and why.

    It refers to one of the project's photos (``image``, with ``boxes`` in its pixels), to a drawing of the kind
    (``picture``, a static path, and its ``alt``), or to neither. The texts are Markdown.
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
class InstructionText:
    """The text for workers: a one-line summary, a Markdown body, worked examples."""

    summary: str = ""
    body: str = ""
    examples: tuple[Example, ...] = ()

    def comparison_lines(self) -> list[str]:
        """Return the lines that a comparison of two versions uses; empty lines are dropped."""
        body = (line.rstrip() for line in self.body.splitlines())
        found = [f"In one line: {self.summary}", *filter(None, body)]
        for number, example in enumerate(self.examples, start=1):
            found += [f"Example {number}, {line}" for line in _example_lines(example)]
        return found


class DiffSign(StrEnum):
    """The change of a line from one version to the next."""

    ADDED = "+"
    REMOVED = "−"
    UNCHANGED = " "


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference."""

    sign: DiffSign
    text: str

    @property
    def label(self) -> str:
        """The sign as a word, for screen readers."""
        return {DiffSign.ADDED: "Added", DiffSign.REMOVED: "Removed"}.get(self.sign, "")


def parse_examples(rows: Iterable[Mapping[str, Any]]) -> tuple[Example, ...]:
    """Return stored rows, or a kind's rows, as examples; a row may omit fields."""
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


def diff_instructions(before: InstructionText, after: InstructionText) -> list[DiffLine]:
    """Return every line of both texts, in reading order, each with its change."""
    return diff_lines(before.comparison_lines(), after.comparison_lines())


def diff_lines(before: Sequence[str], after: Sequence[str]) -> list[DiffLine]:
    """Return the lines of both texts, each removed line before its replacement."""
    found: list[DiffLine] = []
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    for change, a_start, a_end, b_start, b_end in matcher.get_opcodes():
        if change == "equal":
            found += [DiffLine(DiffSign.UNCHANGED, text) for text in before[a_start:a_end]]
        else:
            found += [DiffLine(DiffSign.REMOVED, text) for text in before[a_start:a_end]]
            found += [DiffLine(DiffSign.ADDED, text) for text in after[b_start:b_end]]
    return found


def format_boxes(boxes: Iterable[Box]) -> str:
    """Return boxes as people type them: one per line, left, top, width and height."""
    return "\n".join(f"{box.left}, {box.top}, {box.width}, {box.height}" for box in boxes)


def parse_boxes(text: str) -> tuple[Box, ...]:
    """Return the boxes of ``format_boxes``; empty lines are skipped.

    Raises:
        ValueError: a line is not a box; the message quotes it.
    """
    found = []
    for line in filter(str.strip, text.splitlines()):
        match = _BOX_PATTERN.fullmatch(line)
        if match is None:
            raise ValueError(
                f"“{line.strip()[:40]}” is not a box: use four whole numbers, such as 120, 80, 200, 150"
            )
        found.append(Box(*map(int, match.groups())))
    return tuple(found)


def _example_lines(example: Example) -> list[str]:
    texts = [("too plain", example.weak), ("works", example.good), ("why", example.why)]
    found = [f"{name}: {text}" for name, text in texts if text]
    if example.image is not None:
        found.append(f"photo: {example.image}")
    if example.picture:
        found.append("picture: the drawing that comes with the task")
    return found + [f"box: {line}" for line in format_boxes(example.boxes).splitlines()]
