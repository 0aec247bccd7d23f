"""Build comparison sets: for each instance, ten plausible and varied inferences for people to rate.

First, the global filters remove copies (soft and verbatim de-duplication). Then each instance in turn finds its
candidates, and is skipped if they are too few; otherwise inferences are picked greedily and disqualified for later
sets. Last, the sets are ranked by set score. The lowest index wins every tie. Scores are computed block by block.
Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32; ``options`` lists where it is ambiguous.
"""

from collections.abc import Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from curation.negatives.candidate_floor import FloorTiming, find_skip_reason
from curation.negatives.candidates import CandidatePool, CandidateScorer, CountArray, CountedBlock, IdArray
from curation.negatives.filters import cap_verbatim, make_mask
from curation.negatives.greedy import TextVectors, pick_greedily
from curation.negatives.options import (
    ComparisonSetOptions,
    ExecutionOptions,
    SpeedShortcut,
    TurnOrder,
    VerbatimCapTiming,
)
from curation.negatives.plausibility import Plausibility
from curation.negatives.set_score import SetRanking, SetScore, rank_sets, score_set
from curation.records import ComparisonSet, InvalidInput, SkippedInstance, SkipReason

NOT_COUNTED = -1  # in place of a number of candidates


@dataclass(frozen=True, slots=True)
class FilterCounts:
    """Number of inferences: in all, after soft de-duplication, and after the verbatim cap."""

    inferences: int
    after_soft: int
    after_cap: int


@dataclass(frozen=True, slots=True)
class DraftSet:
    """A set before ranking, with the figures that explain each pick.

    gold_plausibility: of the gold inference. chosen: ids in the order of selection, each with its plausibility,
    similarity (to earlier picks, 0 for the first) and objective (weight x plausibility - similarity). eligible:
    number of inferences that passed the global filters and are more plausible than the gold one, or NOT_COUNTED with
    the shortcut drop_used. available: how many of them were unused at the instance's turn.
    """

    instance: int
    gold_plausibility: float
    chosen: tuple[int, ...]
    plausibility: tuple[float, ...]
    similarity: tuple[float, ...]
    objectives: tuple[float, ...]
    eligible: int
    available: int
    set_score: SetScore

    @property
    def margins(self) -> tuple[float, ...]:
        """Each chosen inference's plausibility minus that of the gold inference."""
        return tuple(value - self.gold_plausibility for value in self.plausibility)


@dataclass(frozen=True, slots=True)
class ComparisonSetResult:
    """The result of ``build_comparison_sets``.

    sets, drafts: in the order in which they were built, to which ``ranking`` refers. skipped: in the order of the
    turns. funnel: how many inferences each filter left. eligible: (m,) as in DraftSet, of all instances.
    """

    sets: tuple[ComparisonSet, ...]
    skipped: tuple[SkippedInstance, ...]
    drafts: tuple[DraftSet, ...]
    ranking: SetRanking
    funnel: FilterCounts
    eligible: CountArray


def build_comparison_sets(
    plausibility: Plausibility,
    texts: Sequence[str],
    text_vectors: NDArray[np.floating],
    *,
    candidate_ids: Iterable[int] | None = None,
    image_ids: Sequence[Hashable] | None = None,
    options: ComparisonSetOptions | None = None,
    generator: np.random.Generator | None = None,
    execution: ExecutionOptions | None = None,
) -> ComparisonSetResult:
    """Build and rank the sets of m instances from n inferences.

    texts: n. text_vectors: (n, e), of any nonzero length. candidate_ids: the ids that passed soft de-duplication; all
    by default. image_ids: n, the image of each inference, if the options need it. generator: draws the random order.
    Every skipped instance is listed with its exact number of candidates at its turn, except after an early stop.
    Raises InvalidInput for lengths that differ, bad vectors or scores, ids out of range, and a missing generator or
    image_ids.
    """
    options, execution = options or ComparisonSetOptions(), execution or ExecutionOptions()
    n = plausibility.shape[1]
    _check_lengths(n, texts, text_vectors, image_ids, options)
    soft = np.arange(n) if candidate_ids is None else np.flatnonzero(make_mask(candidate_ids, n))
    is_capped = options.verbatim_cap is VerbatimCapTiming.BEFORE_FLOOR
    ids = cap_verbatim(soft.tolist(), texts, options.max_verbatim) if is_capped else soft
    pool = CandidatePool(ids, texts, options, image_ids)
    with ThreadPoolExecutor(execution.threads) as threads:
        vectors = TextVectors(text_vectors)
        scorer = CandidateScorer(plausibility, pool, options, execution, threads)
        progress = _ProgressCounter(plausibility.shape[0], options, execution)
        order = _instance_order(scorer, options, generator, progress)
        builder = _SetBuilder(scorer, pool, texts, vectors, options, progress)
        builder.run(order)
    funnel = FilterCounts(inferences=n, after_soft=len(soft), after_cap=len(ids))
    return builder.result(funnel)


def _check_lengths(
    n: int,
    texts: Sequence[str],
    text_vectors: NDArray[np.floating],
    image_ids: Sequence[Hashable] | None,
    options: ComparisonSetOptions,
) -> None:
    if len(texts) != n or len(text_vectors) != n:
        raise InvalidInput(
            f"{n} scored inferences, {len(texts)} texts and {len(text_vectors)} text embeddings; "
            "give one text and one embedding per inference, in the same order"
        )
    if image_ids is None and options.needs_images:
        raise InvalidInput("image ids: these rules need the image of every inference; give one id for each")
    if image_ids is not None and len(image_ids) != n:
        raise InvalidInput(f"image ids: {len(image_ids)} for {n} inferences; give one for each")


class _ProgressCounter:
    """Counts scored instances over all passes, and reports the progress."""

    def __init__(self, instances: int, options: ComparisonSetOptions, execution: ExecutionOptions) -> None:
        scores_twice = options.order in {TurnOrder.MOST_CANDIDATES, TurnOrder.FEWEST_CANDIDATES}
        self.instances = instances
        self.total = instances * (2 if scores_twice else 1)
        self._done = 0
        self._report = execution.progress

    def step(self, count: int) -> None:
        self._done += count
        if self._report is not None:
            self._report(self._done, self.total)


def _instance_order(
    scorer: CandidateScorer,
    options: ComparisonSetOptions,
    generator: np.random.Generator | None,
    progress: _ProgressCounter,
) -> IdArray:
    """Return the (m,) instances in the order of their turns. An order by candidates scores all instances twice."""
    given_order = np.arange(progress.instances)
    if options.order is TurnOrder.GIVEN:
        return given_order
    if options.order is TurnOrder.RANDOM:
        if generator is None:
            raise InvalidInput("order: random needs a seed; give one")
        return generator.permutation(given_order)
    eligible = np.empty(len(given_order), np.int64)
    for block in scorer.score_blocks(given_order):
        eligible[block.instances] = block.eligible
        progress.step(len(block.eligible))
    return np.argsort(-eligible if options.order is TurnOrder.MOST_CANDIDATES else eligible, kind="stable")


@dataclass(slots=True)
class _SetBuilder:
    """Processes the instances in turn and collects the results."""

    scorer: CandidateScorer
    pool: CandidatePool
    texts: Sequence[str]
    vectors: TextVectors
    options: ComparisonSetOptions
    progress: _ProgressCounter
    drafts: list[DraftSet] = field(default_factory=list)
    skipped: list[SkippedInstance] = field(default_factory=list)
    eligible: CountArray = field(init=False)
    remaining: int = field(init=False)

    def __post_init__(self) -> None:
        self.eligible = np.full(self.progress.instances, NOT_COUNTED, np.int64)
        self.remaining = len(self.pool)

    def run(self, order: IdArray) -> None:
        processed = 0
        for block in self.scorer.score_blocks(order):
            if self.options.shortcut is not SpeedShortcut.DROP_USED:
                self.eligible[block.instances] = block.eligible
            for row in range(len(block.available)):
                if self.is_exhausted:
                    self.skip_rest(order[processed + row :])
                    self.progress.step(len(order) - processed)
                    return
                self.process_instance(block, row)
            processed += len(block.available)
            self.progress.step(len(block.available))

    @property
    def is_exhausted(self) -> bool:
        """Whether no further instance can get a set, and the options allow an early stop."""
        if self.options.shortcut is not SpeedShortcut.STOP_EARLY:
            return False
        at_turn = self.options.floor_when is FloorTiming.TURN
        return self.remaining < max(self.options.size, self.options.min_candidates if at_turn else 0)

    def skip_rest(self, instances: IdArray) -> None:
        self.eligible[instances] = NOT_COUNTED
        for instance in instances.tolist():
            self.skipped.append(SkippedInstance(instance, SkipReason.POOL_EXHAUSTED, None))

    def process_instance(self, block: CountedBlock, row: int) -> None:
        instance = int(block.instances[row])
        available, columns = int(block.available[row]), None
        if block.version != self.pool.version or self.pool.columns_taken_for_image(instance):
            columns = self.scorer.free_candidates(block, row)
            available = len(columns)
        options, eligible = self.options, int(self.eligible[instance])
        reason = find_skip_reason(
            eligible, available, options.min_candidates, options.floor_when, options.size
        )
        if reason is None:
            columns = self.scorer.free_candidates(block, row) if columns is None else columns
            if not self.pool.can_fill_set(columns):
                reason = SkipReason.CANNOT_FILL_SET
            else:
                self.add_draft_set(block, row, columns)
        if reason is not None:
            self.skipped.append(SkippedInstance(instance, reason, available))

    def add_draft_set(self, block: CountedBlock, row: int, columns: IdArray) -> None:
        instance = int(block.instances[row])
        picks = pick_greedily(block, row, columns, self.pool, self.vectors, self.options)
        chosen = self.pool.ids[picks.columns]
        self.drafts.append(
            DraftSet(
                instance=instance,
                gold_plausibility=float(block.scored.golds[row]),
                chosen=tuple(chosen.tolist()),
                plausibility=picks.plausibility,
                similarity=picks.similarity,
                objectives=picks.objectives,
                eligible=int(self.eligible[instance]),
                available=len(columns),
                set_score=score_set(
                    [self.texts[index] for index in chosen],
                    self.vectors.mean_similarity(chosen),
                    picks.plausibility,
                ),
            )
        )
        self.pool.disqualify(picks.columns, instance)
        self.remaining = len(self.pool)

    def result(self, funnel: FilterCounts) -> ComparisonSetResult:
        ranking = rank_sets(
            [draft.set_score for draft in self.drafts],
            plausibility_weight=self.options.promise_weight,
            preferred_length=self.options.promise_length,
        )
        sets = tuple(
            ComparisonSet(instance=draft.instance, chosen=draft.chosen, rank=int(rank))
            for draft, rank in zip(self.drafts, ranking.ranks(), strict=True)
        )
        skipped, drafts = tuple(self.skipped), tuple(self.drafts)
        return ComparisonSetResult(sets, skipped, drafts, ranking, funnel, self.eligible)
