"""Build comparison sets: for each instance, ten plausible and varied inferences for people to rate.

Stages: global filters (soft and verbatim de-duplication), then for each instance in the given order its candidates,
the floor, the greedy pick and the global disqualification of what was picked; at last the ranking by promise.
Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32. Readings taken where the text is open:
inferences of the same image are not excluded; verbatim copies above the cap are dropped before candidates
are counted; the
floor is counted at the instance's turn; instances are taken in the given order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup.vectors import unit_rows
from curation.negatives.filters import as_mask, cap_verbatim, more_plausible_than_gold
from curation.negatives.greedy import Diversity, TextVectors, pick_greedily
from curation.negatives.plausibility import PlausibilityRows
from curation.negatives.promise import Promise, PromiseRanking, measure_promise, rank_by_promise
from curation.records import ComparisonSet, InvalidInput, SkippedInstance, SkipReason


@dataclass(frozen=True, slots=True)
class ComparisonSetOptions:
    """The paper's settings.

    size: inferences in a set. min_candidates: the floor below which an instance is skipped. max_verbatim: copies of
    one exact text that may be sampled over all sets. weight: of plausibility against diversity in the greedy pick.
    promise_weight: of plausibility's rank in the final ranking.
    """

    size: int = 10
    min_candidates: int = 20
    max_verbatim: int = 3
    diversity: Diversity = Diversity.MEAN
    weight: float = 5.0
    promise_weight: float = 5.0

    def __post_init__(self) -> None:
        for name in ("size", "min_candidates", "max_verbatim"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}: {getattr(self, name)} is too few; give at least 1")
        for name in ("weight", "promise_weight"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise InvalidInput(f"{name}: {value} is no weight; give a finite number of at least 0")


@dataclass(frozen=True, slots=True)
class DraftSet:
    """A set before it is ranked.

    available: candidates at the instance's turn. objectives: the greedy value of each pick.
    """

    instance: int
    chosen: tuple[int, ...]
    objectives: tuple[float, ...]
    available: int
    promise: Promise


@dataclass(frozen=True, slots=True)
class ComparisonSetResult:
    """sets and drafts: in the order in which they were built. ranking: positions refer to that order."""

    sets: tuple[ComparisonSet, ...]
    skipped: tuple[SkippedInstance, ...]
    drafts: tuple[DraftSet, ...]
    ranking: PromiseRanking


def build_comparison_sets(
    plausibility: PlausibilityRows,
    texts: Sequence[str],
    text_vectors: NDArray[np.floating],
    *,
    kept: Iterable[int] | None = None,
    options: ComparisonSetOptions | None = None,
) -> ComparisonSetResult:
    """Build and rank the sets of m instances from n inferences.

    plausibility: (m, n) scores by rows. texts: n. text_vectors: (n, d), any length but zero. kept: the ids left by
    soft de-duplication, all when absent. Every skipped instance is listed with the exact number of candidates it
    had. Raises InvalidInput for lengths that differ, bad vectors or scores, and ids out of range.
    """
    options = options or ComparisonSetOptions()
    n = plausibility.shape[1]
    if len(texts) != n or len(text_vectors) != n:
        raise InvalidInput(
            f"{n} inferences are scored, {len(texts)} texts and {len(text_vectors)} text embeddings are given; "
            "give one text and one embedding per inference, in the same order"
        )
    vectors = TextVectors(unit_rows(text_vectors, "text embeddings"))
    kept_ids = range(n) if kept is None else np.flatnonzero(as_mask(kept, n)).tolist()
    free = as_mask(cap_verbatim(kept_ids, texts, options.max_verbatim), n)
    drafts: list[DraftSet] = []
    skipped: list[SkippedInstance] = []
    for instance, row in enumerate(plausibility.rows()):
        candidates = np.flatnonzero(free & more_plausible_than_gold(row, instance))
        reason = why_skipped(len(candidates), options)
        if reason is not None:
            skipped.append(SkippedInstance(instance=instance, reason=reason, available=len(candidates)))
            continue
        draft = draft_set(instance, candidates, row, texts, vectors, options)
        free[list(draft.chosen)] = False
        drafts.append(draft)
    return _ranked(drafts, skipped, options)


def why_skipped(available: int, options: ComparisonSetOptions) -> SkipReason | None:
    """Why an instance with so many candidates gets no set; None when it gets one."""
    if available < options.min_candidates:
        return SkipReason.TOO_FEW_CANDIDATES
    if available < options.size:
        return SkipReason.CANNOT_FILL_SET
    return None


def draft_set(
    instance: int,
    candidates: NDArray[np.integer],
    row: NDArray[np.floating],
    texts: Sequence[str],
    vectors: TextVectors,
    options: ComparisonSetOptions,
) -> DraftSet:
    """Pick one instance's set from (m,) candidate ids and measure it. row: (n,) plausibility of all inferences."""
    distinct, inverse = vectors.distinct_among(candidates)
    picks = pick_greedily(
        row[candidates],
        distinct,
        inverse,
        size=options.size,
        weight=options.weight,
        diversity=options.diversity,
    )
    chosen = candidates[list(picks.positions)]
    return DraftSet(
        instance=instance,
        chosen=tuple(chosen.tolist()),
        objectives=picks.objectives,
        available=len(candidates),
        promise=measure_promise([texts[index] for index in chosen], vectors.of(chosen), row[chosen]),
    )


def _ranked(
    drafts: list[DraftSet], skipped: list[SkippedInstance], options: ComparisonSetOptions
) -> ComparisonSetResult:
    ranking = rank_by_promise([draft.promise for draft in drafts], weight=options.promise_weight)
    sets = tuple(
        ComparisonSet(instance=draft.instance, chosen=draft.chosen, rank=int(place))
        for draft, place in zip(drafts, ranking.places(), strict=True)
    )
    return ComparisonSetResult(sets=sets, skipped=tuple(skipped), drafts=tuple(drafts), ranking=ranking)
