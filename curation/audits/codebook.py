"""A codebook: what readers are shown and asked about each pair, as data.

Written as TOML, or as JSON with the same fields; ``parsing`` reads it. Shipped codebooks lie in ``codebooks/``.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

YES, NO = "yes", "no"


class CodeKind(StrEnum):
    """How a code is answered."""

    YES_NO = "yes-no"
    SINGLE = "single"
    MULTIPLE = "multiple"


class ShownText(StrEnum):
    """What readers see of a pair beside its photo and boxes."""

    PAIR = "pair"
    CLUE = "clue"
    INFERENCE = "inference"


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer: its ``value`` in data, its words on the page, the ``key`` that gives it.

    ``alone`` is for codes of several choices: nothing can be chosen beside it, as beside "none of these".
    """

    value: str
    words: str
    help: str = ""
    key: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A code is asked only where an earlier ``code`` was answered with one of ``values``."""

    code: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """One question about a pair."""

    id: str
    question: str
    kind: CodeKind
    choices: tuple[Choice, ...]
    help: str = ""
    asked_when: Condition | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """The values that an answer may have, in the order of the page."""
        return tuple(choice.value for choice in self.choices)

    @property
    def alone(self) -> frozenset[str]:
        """The values beside which nothing can be chosen."""
        return frozenset(choice.value for choice in self.choices if choice.alone)

    def value_label(self, value: str) -> str:
        """Return a value as people read it; one that is not in the codebook stays as it is."""
        return next((choice.words for choice in self.choices if choice.value == value), value)


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A published figure that stands beside the own one: ``count`` ``of`` items, in ``words``."""

    code: str
    value: str
    words: str
    count: int | None = None
    of: int | None = None


@dataclass(frozen=True, slots=True)
class Codebook:
    """All that readers are asked. ``source`` names the paper's section, ``pairs`` how many it read in all.

    ``pairs_per_split`` is how many it read of each split, where it took them split by split.
    """

    id: str
    title: str
    version: int
    codes: tuple[Code, ...]
    source: str = ""
    intro: str = ""
    shows: ShownText = ShownText.PAIR
    pairs: int | None = None
    pairs_per_split: int | None = None
    published: tuple[PublishedFigure, ...] = field(default=())

    def as_row(self) -> dict[str, Any]:
        """Return the codebook as JSON keeps it; ``from_row`` in ``parsing`` reads it back."""
        row: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "version": self.version,
            "source": self.source,
            "intro": self.intro,
            "shows": self.shows.value,
            "codes": [_code_row(code) for code in self.codes],
            "published": [_without_none(asdict(figure)) for figure in self.published],
        }
        return row | _without_none({"pairs": self.pairs, "pairs_per_split": self.pairs_per_split})

    @property
    def sha256(self) -> str:
        """The hash of its content: two codebooks of one name and version are the same only with the same hash."""
        text = json.dumps(self.as_row(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _code_row(code: Code) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": code.id,
        "question": code.question,
        "help": code.help,
        "kind": code.kind.value,
        "choices": [asdict(choice) for choice in code.choices],
    }
    if code.asked_when is not None:
        row["asked_when"] = {"code": code.asked_when.code, "is": list(code.asked_when.values)}
    return row


def _without_none(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
