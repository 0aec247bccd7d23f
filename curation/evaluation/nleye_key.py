"""Image triplets with their gold, and answers about them, as arrays (Ventura et al. 2025 §2.2, §4.1).

A triplet has a premise and two hypotheses, h1 and h2; gold is 1 or 2, the more plausible one. A model sees each
triplet in two presentations: ``as_listed`` (h1, h2) and ``swapped`` (h2, h1). It answers with a position.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

AS_LISTED, SWAPPED = "as_listed", "swapped"
PRESENTATIONS = (AS_LISTED, SWAPPED)
HYPOTHESES = (1, 2)
MAX_SCORE = 1e100  # of a hypothesis, so that sums and differences of scores are finite


class ChoiceCode(IntEnum):
    """What a reply chose, or why it chose no position. Only ``FIRST`` and ``SECOND`` can be right."""

    FIRST = 1
    SECOND = 2
    EQUAL = 3
    NONE = 4
    REFUSED = 5
    UNPARSEABLE = 6
    MISSING = 7

    @property
    def is_position(self) -> bool:
        """Whether it is the first or the second image."""
        return self in {ChoiceCode.FIRST, ChoiceCode.SECOND}

    @property
    def choice(self) -> str:
        """``first``, ``second``, ``equal`` or ``none``; empty if no choice could be read."""
        return self.name.lower() if self <= ChoiceCode.NONE else ""

    @property
    def reason(self) -> str:
        """Why it is no position: ``equal``, ``none``, ``refused``, ``unparseable`` or ``missing``; else empty."""
        return "" if self.is_position else self.name.lower()

    @classmethod
    def from_names(cls, choice: str, reason: str = "") -> "ChoiceCode":
        """Return the code of a choice (``first``, ``equal`` …), or of the reason why there is none.

        Without both it is ``MISSING``.

        Raises:
            InvalidInput: an unknown name.
        """
        name = choice or reason or ChoiceCode.MISSING.reason
        if name not in _CODES or (choice and not _CODES[choice].choice):
            raise InvalidInput(f"choice: {name!r:.40} is unknown; use {', '.join(_CODES)}")
        return _CODES[name]


_CODES = {code.name.lower(): code for code in ChoiceCode}
REASONS = tuple(code.reason for code in ChoiceCode if not code.is_position)
"""Why an answer is no position, in the order of tables."""


@dataclass(frozen=True, slots=True)
class TripletKey:
    """The gold and facets of n triplets.

    ids: distinct. golds: (n,) int8, 1 or 2. categories, domains, cells: of each triplet; a cell is a temporal one,
    such as ``forward-short`` (``hits.domain.answers.scene_facets``).
    """

    ids: tuple[str, ...]
    golds: NDArray[np.int8]
    categories: tuple[str, ...]
    domains: tuple[str, ...]
    cells: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check shapes, ids and gold. Raises InvalidInput."""
        n = len(self.ids)
        if not n == len(self.golds) == len(self.categories) == len(self.domains) == len(self.cells):
            raise InvalidInput(f"answer key: its fields are not all of {n} triplets; give one value for each")
        if len(set(self.ids)) != n:
            raise InvalidInput("answer key: an id occurs twice; give each triplet its own")
        if not np.isin(self.golds, HYPOTHESES).all():
            raise InvalidInput("answer key: gold must be 1 or 2; correct it")

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, int, str, str, str]]) -> "TripletKey":
        """Return the key of rows of id, gold, category, domain and temporal cell."""
        rows = list(rows)
        ids, golds, categories, domains, cells = zip(*rows, strict=True) if rows else ((),) * 5
        return cls(ids, np.array(golds, dtype=np.int8), categories, domains, cells)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> "TripletKey":
        """Return the key of some of the triplets, in the given order."""
        index = np.asarray(rows, dtype=np.int64)
        chosen = index.tolist()
        return TripletKey(
            tuple(self.ids[row] for row in chosen),
            self.golds[index],
            tuple(self.categories[row] for row in chosen),
            tuple(self.domains[row] for row in chosen),
            tuple(self.cells[row] for row in chosen),
        )


@dataclass(frozen=True, slots=True)
class TripletPredictions:
    """The answers of a model about n triplets, in the order of their key.

    codes: (n, 2) int8 of ``ChoiceCode``, one column for each of ``PRESENTATIONS``. An answer is a position.
    """

    codes: NDArray[np.int8]

    def __post_init__(self) -> None:
        """Check shape and codes. Raises InvalidInput."""
        if self.codes.ndim != len(PRESENTATIONS) or self.codes.shape[1] != len(PRESENTATIONS):
            raise InvalidInput(
                f"predictions: shape {self.codes.shape}; give two presentations for each triplet"
            )
        if self.codes.size and not 0 < self.codes.min() <= self.codes.max() <= max(ChoiceCode):
            raise InvalidInput("predictions: a code is unknown; use those of ChoiceCode")

    @classmethod
    def from_codes(cls, codes: Iterable[Iterable[int]]) -> "TripletPredictions":
        """Return predictions from rows of two codes, as listed and swapped."""
        return cls(np.array([list(row) for row in codes], dtype=np.int8).reshape(-1, len(PRESENTATIONS)))

    @classmethod
    def from_hypotheses(cls, hypotheses: NDArray[np.integer]) -> "TripletPredictions":
        """Return the answers of a rule that ignores the order: (n,) 1 or 2, 0 if both are equal to it."""
        listed = np.where(hypotheses == 0, ChoiceCode.EQUAL, hypotheses)
        swapped = np.where(hypotheses == 0, ChoiceCode.EQUAL, 3 - hypotheses)
        return cls(np.column_stack([listed, swapped]).astype(np.int8))

    @classmethod
    def all_missing(cls, n: int) -> "TripletPredictions":
        """Return the predictions of a model that was asked nothing."""
        return cls(np.full((n, len(PRESENTATIONS)), ChoiceCode.MISSING, dtype=np.int8))

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> "TripletPredictions":
        """Return the answers about some of the triplets, in the given order."""
        return TripletPredictions(self.codes[np.asarray(rows, dtype=np.int64)])


@dataclass(frozen=True, slots=True)
class PairScores:
    """The plausibility of each hypothesis with the premise, for n triplets in the order of their key.

    values: (n, 2) for h1 and h2, on any scale; higher is more plausible. A missing score is NaN.
    """

    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check shape and size. Raises InvalidInput."""
        if self.values.ndim != len(HYPOTHESES) or self.values.shape[1] != len(HYPOTHESES):
            raise InvalidInput(f"pair scores: shape {self.values.shape}; give two scores for each triplet")
        if (np.abs(self.values[~np.isnan(self.values)]) > MAX_SCORE).any():
            raise InvalidInput(f"pair scores: a score is beyond {MAX_SCORE:g}; scale the scores down")

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[float | None, float | None]]) -> "PairScores":
        """Return scores from rows of two numbers; None is a missing score."""
        values = [[np.nan if score is None else score for score in row] for row in rows]
        return cls(np.array(values, dtype=np.float64).reshape(-1, len(HYPOTHESES)))

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> "PairScores":
        """Return the scores of some of the triplets, in the given order."""
        return PairScores(self.values[np.asarray(rows, dtype=np.int64)])


def check_length(n: int, expected: int, name: str) -> None:
    """Check that answers are about as many triplets as the key has. Raises InvalidInput."""
    if n != expected:
        raise InvalidInput(f"{name}: {n} triplets, but the answer key has {expected}; give one row for each")
