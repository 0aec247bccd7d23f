"""Sampling of pairs: at random, at random within each split, or by the highest scores.

The same pairs, scores and recipe give the same sample in the same reading order, whatever their order in the
database. The reading order is random, so a pair's position does not reveal its score. Hessel et al. (ECCV 2022,
appendix A.4) read 250 random pairs, and the 50 most toxic ones of each split.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from curation.audits.codebook import Codebook
from curation.records import InvalidInput
from validation.domain.judging import sampling

MAX_PAIRS = 5000
_ORDER_STREAM = 1  # the seed's streams: 0 chooses pairs, 1 their order


class SamplingMethod(StrEnum):
    """How the pairs are chosen."""

    RANDOM = "random"
    PER_SPLIT = "per-split"
    TOP = "top"


@dataclass(frozen=True, slots=True)
class SampleRecipe:
    """How a sample is made. ``n`` is its size: in total (``RANDOM``), or in each split.

    ``split`` restricts the sample to one split: ``None`` means all splits, and the empty string means photos without
    a split. ``analysis`` is the row key of the analysis whose scores rank the pairs (``TOP``).
    """

    method: SamplingMethod
    n: int
    seed: int = 0
    split: str | None = None
    analysis: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MAX_PAIRS:
            raise InvalidInput(f"n: {self.n} is out of range; use 1 to {MAX_PAIRS:,}")
        if not 0 <= self.seed <= sampling.MAX_SEED:
            raise InvalidInput(f"seed: {self.seed} is out of range; use 0 to {sampling.MAX_SEED}")
        if (self.method is SamplingMethod.TOP) != (self.analysis is not None):
            raise InvalidInput("analysis: required for the top pairs, and not allowed for other samples")

    def as_row(self) -> dict[str, Any]:
        """Return the recipe as JSON."""
        fields = {name: getattr(self, name) for name in ("n", "seed", "split", "analysis")}
        return {"how": self.method.value, **fields}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "SampleRecipe":
        """Return the recipe that ``as_row`` returned as JSON."""
        return cls(SamplingMethod(row["how"]), row["n"], row["seed"], row["split"], row["analysis"])

    @property
    def description(self) -> str:
        """The recipe in words, for pages."""
        where = "" if self.split is None else f" of {self.split or sampling.NO_SPLIT}"
        if self.method is SamplingMethod.RANDOM:
            return f"random sample of {self.n} pairs{where}, seed {self.seed}"
        if self.method is SamplingMethod.PER_SPLIT:
            return f"random sample of {self.n} pairs of each split, seed {self.seed}"
        return f"top {self.n} pairs of each split{where} by score"


@dataclass(frozen=True, slots=True)
class CandidatePair:
    """A pair that may be sampled: its row key, published id, split, and score if any."""

    key: int
    instance_id: str
    split: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The pairs in reading order. ``missing`` is the requested number minus the number of pairs."""

    pairs: tuple[CandidatePair, ...]
    missing: int


def default_sample_size(codebook: Codebook, method: SamplingMethod) -> int:
    """Return the codebook's sample size: in total, or in each split if the method samples by split.

    Raises:
        InvalidInput: the codebook states no such size.
    """
    size = codebook.pairs if method is SamplingMethod.RANDOM else codebook.pairs_per_split
    if size is None:
        scope = "" if method is SamplingMethod.RANDOM else " of each split"
        raise InvalidInput(f"n: enter the number of pairs{scope}; this codebook has no default")
    return size


def draw_sample(pairs: Sequence[CandidatePair], recipe: SampleRecipe) -> Sample:
    """Draw the sample. If there are fewer pairs than requested, take all of them.

    Ties are broken by published id. Splits without pairs are not counted as missing.

    Raises:
        InvalidInput: there are no pairs.
    """
    pool = [pair for pair in pairs if recipe.split is None or pair.split == recipe.split]
    if recipe.method is SamplingMethod.TOP:
        pool = [pair for pair in pool if pair.score is not None]
    if not pool:
        raise InvalidInput("pairs: there are none to choose from; approve work, or choose another split")
    sampled = (
        _take_top_per_split(pool, recipe.n)
        if recipe.method is SamplingMethod.TOP
        else _draw_random(pool, recipe)
    )
    draws = 1 if recipe.method is SamplingMethod.RANDOM else len({pair.split for pair in pool})
    requested = recipe.n * draws
    return Sample(_shuffle(sampled, recipe.seed), requested - len(sampled))


def _draw_random(pool: Sequence[CandidatePair], recipe: SampleRecipe) -> list[CandidatePair]:
    by_split = recipe.method is SamplingMethod.PER_SPLIT
    selection = sampling.Selection(
        method=sampling.SelectionMethod.STRATIFIED if by_split else sampling.SelectionMethod.SAMPLE,
        n=recipe.n,
        seed=recipe.seed,
        stratify_by=sampling.Stratum.SPLIT if by_split else None,
        allocation=sampling.Allocation.EQUAL,
    )
    candidates = [sampling.SelectablePair(id=pair.instance_id, worker=0, split=pair.split) for pair in pool]
    chosen = {candidate.id for candidate in sampling.select_pairs(candidates, selection)}
    return [pair for pair in pool if pair.instance_id in chosen]


def _take_top_per_split(pool: Iterable[CandidatePair], n: int) -> list[CandidatePair]:
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
