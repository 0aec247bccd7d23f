"""Which pairs are read: a random sample, a sample of each split, or the top ones by a score.

The recipe holds all that the choice rests on; the same pairs, scores and recipe give the same sample in the same
order of reading, in whatever order they come from the database. That order is by lot, so that a pair's place says
nothing of its score. Paper 000 A.4 reads 250 random pairs, and the 50 most toxic ones of each split.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from curation.audits.codebook import Codebook
from curation.records import InvalidInput
from validation.domain.judging.sampling import (
    MOST_SEED,
    NO_SPLIT,
    Allotment,
    Candidate,
    Selection,
    Stratum,
    choose,
)
from validation.domain.judging.sampling import How as Drawn

MOST_PAIRS = 5000
_ORDER = 1  # of the seed's streams: which pairs is 0, in what order 1


class How(StrEnum):
    """How the pairs are chosen."""

    RANDOM = "random"
    PER_SPLIT = "per-split"
    TOP = "top"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a sample is made. ``n`` is the number in all (``RANDOM``) or of each split.

    ``split`` takes one split alone; ``None`` takes all, and empty text the pairs whose photos have none. ``analysis``
    is the row key of the analysis whose scores choose (``TOP``).
    """

    how: How
    n: int
    seed: int = 0
    split: str | None = None
    analysis: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MOST_PAIRS:
            raise InvalidInput(f"n: {self.n} is out of range; use 1 to {MOST_PAIRS:,}")
        if not 0 <= self.seed <= MOST_SEED:
            raise InvalidInput(f"seed: {self.seed} is out of range; use 0 to {MOST_SEED}")
        if (self.how is How.TOP) != (self.analysis is not None):
            raise InvalidInput("analysis: name one for the top pairs, and for no other sample")

    def as_row(self) -> dict[str, Any]:
        """Return the recipe as JSON keeps it."""
        return {
            "how": self.how.value,
            "n": self.n,
            "seed": self.seed,
            "split": self.split,
            "analysis": self.analysis,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Recipe":
        """Return the recipe that ``as_row`` wrote."""
        return cls(How(row["how"]), row["n"], row["seed"], row["split"], row["analysis"])

    @property
    def words(self) -> str:
        """The recipe in words."""
        where = "" if self.split is None else f" of {self.split or NO_SPLIT}"
        if self.how is How.RANDOM:
            return f"random sample of {self.n} pairs{where}, seed {self.seed}"
        if self.how is How.PER_SPLIT:
            return f"random sample of {self.n} pairs of each split, seed {self.seed}"
        return f"top {self.n} pairs of each split{where} by score"


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair that may be read: its row key, published id, split, and its score where one chooses."""

    key: int
    instance_id: str
    split: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The pairs in the order of reading. ``missing`` is how many fewer there are than were asked for."""

    pairs: tuple[Pair, ...]
    missing: int


def number_of(codebook: Codebook, how: How) -> int:
    """Return the ``n`` of the paper's own sample: in all, or of each split where ``how`` chooses split by split.

    Raises:
        InvalidInput: the codebook names no such number.
    """
    number = codebook.pairs if how is How.RANDOM else codebook.pairs_per_split
    if number is None:
        of = "" if how is How.RANDOM else " of each split"
        raise InvalidInput(f"n: say how many pairs{of}; this codebook names no number")
    return number


def draw(pairs: Sequence[Pair], recipe: Recipe) -> Sample:
    """Return the sample; where there are fewer pairs than asked for, all of them.

    Of equal scores the smaller published id comes first. A split without any pair asks for nothing.

    Raises:
        InvalidInput: there is no pair to choose from.
    """
    pool = [pair for pair in pairs if recipe.split is None or pair.split == recipe.split]
    if recipe.how is How.TOP:
        pool = [pair for pair in pool if pair.score is not None]
    if not pool:
        raise InvalidInput("pairs: there is none to choose from; approve work first, or choose another split")
    taken = _top(pool, recipe.n) if recipe.how is How.TOP else _random(pool, recipe)
    wanted = recipe.n * (1 if recipe.how is How.RANDOM else len({pair.split for pair in pool}))
    return Sample(_by_lot(taken, recipe.seed), wanted - len(taken))


def _random(pool: Sequence[Pair], recipe: Recipe) -> list[Pair]:
    by_split = recipe.how is How.PER_SPLIT
    selection = Selection(
        how=Drawn.STRATIFIED if by_split else Drawn.SAMPLE,
        n=recipe.n,
        seed=recipe.seed,
        strata=Stratum.SPLIT if by_split else None,
        allotment=Allotment.EQUAL,
    )
    candidates = [Candidate(id=pair.instance_id, worker=0, split=pair.split) for pair in pool]
    chosen = {candidate.id for candidate in choose(candidates, selection)}
    return [pair for pair in pool if pair.instance_id in chosen]


def _top(pool: Iterable[Pair], n: int) -> list[Pair]:
    splits: dict[str, list[Pair]] = {}
    for pair in pool:
        splits.setdefault(pair.split, []).append(pair)
    return [pair for _, rows in sorted(splits.items()) for pair in sorted(rows, key=_by_score)[:n]]


def _by_score(pair: Pair) -> tuple[float, str]:
    assert pair.score is not None
    return -pair.score, pair.instance_id


def _by_lot(pairs: Iterable[Pair], seed: int) -> tuple[Pair, ...]:
    ordered = sorted(pairs, key=lambda pair: pair.instance_id)
    order = np.random.default_rng([seed, _ORDER]).permutation(len(ordered))
    return tuple(ordered[at] for at in order)
