"""A codebook: what readers see and answer for each pair.

A codebook is a TOML file, or a JSON file with the same fields, which ``curation.audits.parsing`` reads. The built-in
ones are in the folder ``codebooks``.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

YES, NO = "yes", "no"


class CodeKind(StrEnum):
    """What a code is answered with: yes or no, one choice, or several choices."""

    YES_NO = "yes-no"
    SINGLE = "single"
    MULTIPLE = "multiple"


class ShownText(StrEnum):
    """The texts of a pair that readers see, besides its photo and boxes."""

    PAIR = "pair"
    CLUE = "clue"
    INFERENCE = "inference"


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice: its ``value`` in data, its label on the page (``words``), and its keyboard shortcut ``key``.

    ``alone`` is for codes of several choices: the choice excludes all others, such as "none of these".
    """

    value: str
    words: str
    help: str = ""
    key: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A code applies only if an earlier ``code`` was answered with one of ``values``."""

    code: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A question about a pair."""

    id: str
    question: str
    kind: CodeKind
    choices: tuple[Choice, ...]
    help: str = ""
    asked_when: Condition | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the choices, in page order."""
        return tuple(choice.value for choice in self.choices)

    @property
    def exclusive_values(self) -> frozenset[str]:
        """The values of the choices that exclude all others."""
        return frozenset(choice.value for choice in self.choices if choice.alone)

    def value_label(self, value: str) -> str:
        """Return the label of a value, or the value itself if it is not in the codebook."""
        return next((choice.words for choice in self.choices if choice.value == value), value)


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A published figure, shown next to ours: ``count`` ``of`` items, described by ``words``."""

    code: str
    value: str
    words: str
    count: int | None = None
    of: int | None = None


@dataclass(frozen=True, slots=True)
class Codebook:
    """The questions to readers. ``source`` names the paper and section that they come from.

    ``pairs`` is that paper's sample size; ``pairs_per_split`` is its sample size in each split, if it has splits.
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
        """Return the codebook as JSON, which ``curation.audits.parsing.codebook_from_row`` reads."""
        row: dict[str, Any] = {
            "id": self.id,
            "title": self.title,
            "version": self.version,
            "source": self.source,
            "intro": self.intro,
            "shows": self.shows.value,
            "codes": [_code_row(code) for code in self.codes],
            "published": [_drop_none_values(asdict(figure)) for figure in self.published],
        }
        return row | _drop_none_values({"pairs": self.pairs, "pairs_per_split": self.pairs_per_split})

    @property
    def sha256(self) -> str:
        """The SHA-256 of the content: codebooks with the same id and version may still differ."""
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


def _drop_none_values(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
