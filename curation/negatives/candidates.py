"""The pool of inferences that may still be sampled, and each instance's candidates among them.

Threads score blocks of instances and count their candidates in advance; instances then take their turns in order. If
earlier instances took inferences after the count, the candidates are counted again at the turn.
"""

import itertools
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.negatives import kernels
from curation.negatives.matmul_backends import block_slices, matmul_error_bound
from curation.negatives.options import (
    ComparisonSetOptions,
    DisqualificationScope,
    ExecutionOptions,
    GoldStrictness,
    SameImageRule,
    SpeedShortcut,
    VerbatimCapTiming,
)
from curation.negatives.plausibility import Plausibility, PlausibilityColumns, ScoreBlock

IdArray = NDArray[np.intp]
CountArray = NDArray[np.int64]

MAX_ROWS = 320  # of a block: OpenBLAS packs this many rows at once, and more would not fit into the cache
COMPACT_SHARE = 0.8  # used columns are dropped if the free ones are below this share
UNLIMITED = np.iinfo(np.int64).max


class CandidatePool:
    """The inferences that passed the global filters, and which of them are free.

    ids: (c,), ascending; the inferences of the columns of all scores. free: (c,) int32, 1 for those that may be
    sampled. numbers: (c,) numbers of the texts, equal for equal texts. remaining: how often each text may still be
    sampled. version: incremented whenever ``free`` changes.
    """

    def __init__(
        self,
        ids: IdArray,
        texts: Sequence[str],
        options: ComparisonSetOptions,
        image_ids: Sequence[Hashable] | None = None,
    ) -> None:
        self._options = options
        self._image_ids = image_ids
        numbers: dict[str, int] = {}
        self.ids = ids
        self.free = np.ones(len(ids), np.int32)
        self.numbers = np.array([numbers.setdefault(texts[i], len(numbers)) for i in ids.tolist()], np.int64)
        capped = options.verbatim_cap is VerbatimCapTiming.AT_SAMPLING
        self.remaining = np.full(len(numbers), options.max_verbatim if capped else UNLIMITED, np.int64)
        self.version = 0
        self._taken_columns_by_image: dict[Hashable, list[int]] = defaultdict(list)
        self._excluded: dict[Hashable, IdArray] = {}
        self._store_excluded_columns()

    def __len__(self) -> int:
        """Number of free inferences."""
        return int(self.free.sum())

    def excluded_columns(self, instance: int) -> IdArray:
        """Return the columns that an instance never gets: its gold inference and, by option, those of its image."""
        return self._excluded.get(self._exclusion_key(instance), np.empty(0, np.intp))

    def columns_taken_for_image(self, instance: int) -> list[int]:
        """Return the columns sampled for the instance's image, if they are disqualified for that image only."""
        return self._taken_columns_by_image.get(self._image_or_instance(instance), [])

    def free_mask(self, instance: int) -> NDArray[np.int32]:
        """Return the mask (c,) of an instance's free columns; read-only."""
        if not (self._excluded or self._taken_columns_by_image):
            return self.free
        mask = self.free.copy()
        mask[self.excluded_columns(instance)] = 0
        mask[self.columns_taken_for_image(instance)] = 0
        return mask

    def can_fill_set(self, columns: IdArray) -> bool:
        """Whether a set can be filled from the (k,) columns under the limit of copies of each text."""
        if self._options.verbatim_cap is VerbatimCapTiming.BEFORE_FLOOR:
            return len(columns) >= self._options.size
        numbers, counts = np.unique(self.numbers[columns], return_counts=True)
        return int(np.minimum(counts, self.remaining[numbers]).sum()) >= self._options.size

    def disqualify(self, columns: IdArray, instance: int) -> None:
        """Disqualify the inferences that were sampled for an instance."""
        if self._options.disqualification is DisqualificationScope.GLOBAL:
            self.free[columns] = 0
            self.version += 1
        else:
            self._taken_columns_by_image[self._image_or_instance(instance)].extend(columns.tolist())
        if self._options.verbatim_cap is VerbatimCapTiming.AT_SAMPLING:
            self.free[self.remaining[self.numbers] == 0] = 0
            self.version += 1

    def drop_used_if_many(self) -> bool:
        """Drop the used columns if they are many; return whether they were dropped."""
        remaining = np.flatnonzero(self.free)
        if not 0 < len(remaining) < COMPACT_SHARE * len(self.free):
            return False
        new_columns = np.cumsum(self.free) - 1
        self._taken_columns_by_image = defaultdict(
            list,
            {
                image: [int(new_columns[column]) for column in columns if self.free[column]]
                for image, columns in self._taken_columns_by_image.items()
            },
        )
        self.ids, self.numbers, self.free = self.ids[remaining], self.numbers[remaining], self.free[remaining]
        self._store_excluded_columns()
        return True

    def _image_or_instance(self, instance: int) -> Hashable:
        return self._image_ids[instance] if self._image_ids is not None else instance

    def _exclusion_key(self, instance: int) -> Hashable:
        forbids_same_image = self._options.same_image is SameImageRule.FORBIDDEN
        return self._image_or_instance(instance) if forbids_same_image else instance

    def _store_excluded_columns(self) -> None:
        if (
            self._options.same_image is SameImageRule.ALLOWED
            and self._options.strictness is GoldStrictness.ABOVE
        ):
            return  # the gold inference is never above itself
        columns: dict[Hashable, list[int]] = defaultdict(list)
        for column, index in enumerate(self.ids.tolist()):
            columns[self._exclusion_key(index)].append(column)
        self._excluded = {key: np.array(found, np.intp) for key, found in columns.items()}


@dataclass(frozen=True, slots=True)
class CountedBlock:
    """A scored block of (b,) instances.

    columns: the scored columns. eligible: (b,) number of candidates before any sampling. available: (b,) number of
    free candidates at the count. version: the pool's version at the count.
    """

    instances: IdArray
    scored: kernels.Block
    columns: PlausibilityColumns
    eligible: CountArray
    available: CountArray
    version: int


class CandidateScorer:
    """Scores and counts instances against the pool, in blocks that share a few buffers.

    Each thread multiplies and counts its own blocks on one core. Threads that share a product would wait for each
    other at every block.
    """

    def __init__(
        self,
        plausibility: Plausibility,
        pool: CandidatePool,
        options: ComparisonSetOptions,
        execution: ExecutionOptions,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._plausibility = plausibility
        self._pool = pool
        self._options = options
        self._execution = execution
        self._threads = threads

    def score_blocks(self, order: IdArray) -> Iterator[CountedBlock]:
        """Score the (m,) instances in this order. A block is valid only until the next one is requested.

        The next blocks are scored while the caller uses one, unless columns are dropped between them.
        """
        if self._options.shortcut is SpeedShortcut.DROP_USED:
            yield from self._score_dropping_used(order)
            return
        columns = self._plausibility.columns(self._pool.ids)
        buffers = self._make_buffers(columns, len(order), self._execution.threads + 1)  # the caller uses one
        pending: deque[Future[CountedBlock]] = deque()
        with columns.limit_to_one_core():
            try:
                for part, buffer in zip(block_slices(len(order), len(buffers[0])), itertools.cycle(buffers)):
                    pending.append(self._threads.submit(self._score, columns, order[part], buffer))
                    if len(pending) == len(buffers):
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()

    def _score_dropping_used(self, order: IdArray) -> Iterator[CountedBlock]:
        """Score one block per thread at a time, and drop used columns in between."""
        columns = self._plausibility.columns(self._pool.ids)
        buffers = self._make_buffers(columns, len(order), self._execution.threads)
        parts = block_slices(len(order), len(buffers[0]))
        while batch := list(itertools.islice(parts, len(buffers))):
            if self._pool.drop_used_if_many():
                columns = self._plausibility.columns(self._pool.ids)
                buffers = [_narrow_buffer(buffer, len(self._pool.ids)) for buffer in buffers]
            score = partial(self._score, columns)
            with columns.limit_to_one_core():
                scored = list(self._threads.map(score, [order[part] for part in batch], buffers))
            yield from scored

    def _score(self, columns: PlausibilityColumns, instances: IdArray, buffer: NDArray[Any]) -> CountedBlock:
        """Score one block and count each part while its scores are in the cache."""
        version = (
            self._pool.version
        )  # read before counting: inferences taken meanwhile make the counts outdated
        opened = columns.start_block(instances, buffer)
        block = self._to_kernel_block(opened)
        counts = np.zeros((len(instances), 2), np.int64)
        for part in columns.fill(instances, opened):
            kernels.count_candidates(block, part.start, part.stop, self._pool.free, counts)
        kernels.subtract_excluded(block, *self._excluded_columns(instances), self._pool.free, counts)
        return CountedBlock(instances, block, columns, counts[:, 0], counts[:, 1], version)

    def free_candidates(self, block: CountedBlock, row: int) -> IdArray:
        """Return the (k,) columns that are free for one row now, ascending."""
        free = self._pool.free_mask(int(block.instances[row]))
        return np.asarray(kernels.select_candidates(block.scored, row, free))

    def _make_buffers(
        self, columns: PlausibilityColumns, instance_count: int, buffer_count: int
    ) -> list[NDArray[Any]]:
        width = len(self._pool.ids)
        rows = self._execution.memory_mib * 2**20 // (buffer_count * max(1, width) * columns.dtype.itemsize)
        shape = (max(1, min(rows, MAX_ROWS, instance_count)), width)
        return [np.empty(shape, columns.dtype) for _ in range(buffer_count)]

    def _to_kernel_block(self, scored: ScoreBlock) -> kernels.Block:
        return kernels.Block(
            scores=scored.scores,
            low=scored.low,
            high=scored.high,
            golds=scored.golds,
            exact=scored.exact,
            slack=matmul_error_bound(scored.images),
            at_least=self._options.strictness is GoldStrictness.AT_LEAST,
            images=scored.images,
            inferences=scored.inferences,
        )

    def _excluded_columns(self, instances: IdArray) -> tuple[IdArray, IdArray]:
        lists = [self._pool.excluded_columns(instance) for instance in instances.tolist()]
        starts = np.zeros(len(lists) + 1, np.intp)
        np.cumsum([len(columns) for columns in lists], out=starts[1:])
        return starts, np.concatenate(lists) if starts[-1] else np.empty(0, np.intp)


def _narrow_buffer(buffer: NDArray[Any], width: int) -> NDArray[Any]:
    """Return the same memory as contiguous rows of fewer columns."""
    return buffer.reshape(-1)[: len(buffer) * width].reshape(len(buffer), width)
