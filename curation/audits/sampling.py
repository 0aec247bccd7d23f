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
    MAX_SEED,
    NO_SPLIT,
    Allocation,
    Candidate,
    Selection,
    Stratum,
    select_pairs,
)
from validation.domain.judging.sampling import SelectionMethod as Drawn

MAX_PAIRS = 5000
_ORDER_STREAM = 1  # of the seed's streams: which pairs is 0, in what order 1


class SamplingMethod(StrEnum):
    """How the pairs are chosen."""

    RANDOM = "random"
    PER_SPLIT = "per-split"
    TOP = "top"


@dataclass(frozen=True, slots=True)
class SampleRecipe:
    """How a sample is made. ``n`` is the number in all (``RANDOM``) or of each split.

    ``split`` takes one split alone; ``None`` takes all, and empty text the pairs whose photos have none. ``analysis``
    is the row key of the analysis whose scores choose (``TOP``).
    """

    method: SamplingMethod
    n: int
    seed: int = 0
    split: str | None = None
    analysis: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MAX_PAIRS:
            raise InvalidInput(f"n: {self.n} is out of range; use 1 to {MAX_PAIRS:,}")
        if not 0 <= self.seed <= MAX_SEED:
            raise InvalidInput(f"seed: {self.seed} is out of range; use 0 to {MAX_SEED}")
        if (self.method is SamplingMethod.TOP) != (self.analysis is not None):
            raise InvalidInput("analysis: name one for the top pairs, and for no other sample")

    def as_row(self) -> dict[str, Any]:
        """Return the recipe as JSON keeps it."""
        return {
            "how": self.method.value,
            "n": self.n,
            "seed": self.seed,
            "split": self.split,
            "analysis": self.analysis,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "SampleRecipe":
        """Return the recipe that ``as_row`` wrote."""
        return cls(SamplingMethod(row["how"]), row["n"], row["seed"], row["split"], row["analysis"])

    @property
    def description(self) -> str:
        """The recipe in words."""
        where = "" if self.split is None else f" of {self.split or NO_SPLIT}"
        if self.method is SamplingMethod.RANDOM:
            return f"random sample of {self.n} pairs{where}, seed {self.seed}"
        if self.method is SamplingMethod.PER_SPLIT:
            return f"random sample of {self.n} pairs of each split, seed {self.seed}"
        return f"top {self.n} pairs of each split{where} by score"


@dataclass(frozen=True, slots=True)
class CandidatePair:
    """A pair that may be read: its row key, published id, split, and its score where one chooses."""

    key: int
    instance_id: str
    split: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The pairs in the order of reading. ``missing`` is how many fewer there are than were asked for."""

    pairs: tuple[CandidatePair, ...]
    missing: int


def default_sample_size(codebook: Codebook, how: SamplingMethod) -> int:
    """Return the ``n`` of the paper's own sample: in all, or of each split where ``how`` chooses split by split.

    Raises:
        InvalidInput: the codebook names no such number.
    """
    number = codebook.pairs if how is SamplingMethod.RANDOM else codebook.pairs_per_split
    if number is None:
        of = "" if how is SamplingMethod.RANDOM else " of each split"
        raise InvalidInput(f"n: say how many pairs{of}; this codebook names no number")
    return number


def draw_sample(pairs: Sequence[CandidatePair], recipe: SampleRecipe) -> Sample:
    """Return the sample; where there are fewer pairs than asked for, all of them.

    Of equal scores the smaller published id comes first. A split without any pair asks for nothing.

    Raises:
        InvalidInput: there is no pair to choose from.
    """
    pool = [pair for pair in pairs if recipe.split is None or pair.split == recipe.split]
    if recipe.method is SamplingMethod.TOP:
        pool = [pair for pair in pool if pair.score is not None]
    if not pool:
        raise InvalidInput("pairs: there is none to choose from; approve work first, or choose another split")
    sampled = _take_top(pool, recipe.n) if recipe.method is SamplingMethod.TOP else _draw_random(pool, recipe)
    requested = recipe.n * (
        1 if recipe.method is SamplingMethod.RANDOM else len({pair.split for pair in pool})
    )
    return Sample(_shuffle(sampled, recipe.seed), requested - len(sampled))


def _draw_random(pool: Sequence[CandidatePair], recipe: SampleRecipe) -> list[CandidatePair]:
    by_split = recipe.method is SamplingMethod.PER_SPLIT
    selection = Selection(
        method=Drawn.STRATIFIED if by_split else Drawn.SAMPLE,
        n=recipe.n,
        seed=recipe.seed,
        stratify_by=Stratum.SPLIT if by_split else None,
        allocation=Allocation.EQUAL,
    )
    candidates = [Candidate(id=pair.instance_id, worker=0, split=pair.split) for pair in pool]
    chosen = {candidate.id for candidate in select_pairs(candidates, selection)}
    return [pair for pair in pool if pair.instance_id in chosen]


def _take_top(pool: Iterable[CandidatePair], n: int) -> list[CandidatePair]:
    splits: dict[str, list[CandidatePair]] = {}
    for pair in pool:
        splits.setdefault(pair.split, []).append(pair)
    return [pair for _, rows in sorted(splits.items()) for pair in sorted(rows, key=_score_key)[:n]]


def _score_key(pair: CandidatePair) -> tuple[float, str]:
    assert pair.score is not None
    return -pair.score, pair.instance_id


def _shuffle(pairs: Iterable[CandidatePair], seed: int) -> tuple[CandidatePair, ...]:
    ordered = sorted(pairs, key=lambda pair: pair.instance_id)
    order = np.random.default_rng([seed, _ORDER_STREAM]).permutation(len(ordered))
    return tuple(ordered[index] for index in order)
