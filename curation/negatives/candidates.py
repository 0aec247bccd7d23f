"""Who may still be sampled, and which of them each instance could have.

Scores come block by block. Threads score blocks and count their candidates ahead of the turns, which keep their
order; what earlier rows took since then is counted anew at each turn.
"""

from __future__ import annotations

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
from curation.negatives.options import (
    ComparisonSetOptions,
    Disqualification,
    SameImage,
    Shortcut,
    Strictness,
    VerbatimCap,
    Work,
)
from curation.negatives.plausibility import Columns, Plausibility, ScoreBlock
from curation.negatives.products import blocks_of, product_margin

Ids = NDArray[np.intp]
Counts = NDArray[np.int64]

MOST_ROWS = 320  # as many as OpenBLAS packs at once: more only push one another out of the cache
COMPACT_BELOW = 0.8
UNLIMITED = np.iinfo(np.int64).max


class Pool:
    """The inferences that passed the global filters, and which of them are free.

    ids: (c,), ascending; the columns of all scores. free: (c,) int32, 1 for those that may be sampled. numbers: (c,)
    equal for equal texts. left: how many more of each text may be sampled. version: grows whenever free changes.
    """

    def __init__(
        self,
        ids: Ids,
        texts: Sequence[str],
        options: ComparisonSetOptions,
        image_ids: Sequence[Hashable] | None = None,
    ) -> None:
        self._options = options
        self._image_ids = image_ids
        known: dict[str, int] = {}
        self.ids = ids
        self.free = np.ones(len(ids), np.int32)
        self.numbers = np.array([known.setdefault(texts[i], len(known)) for i in ids.tolist()], np.int64)
        capped = options.verbatim_cap is VerbatimCap.AT_SAMPLING
        self.left = np.full(len(known), options.max_verbatim if capped else UNLIMITED, np.int64)
        self.version = 0
        self._taken_for: dict[Hashable, list[int]] = defaultdict(list)
        self._barred: dict[Hashable, Ids] = {}
        self._find_barred()

    def __len__(self) -> int:
        """How many are free."""
        return int(self.free.sum())

    def barred(self, instance: int) -> Ids:
        """Columns that are never candidates of an instance: its gold and, if so ruled, its image's inferences."""
        return self._barred.get(self._barring(instance), np.empty(0, np.intp))

    def taken_for(self, instance: int) -> list[int]:
        """Columns that were sampled for the instance's image, if only that image loses them."""
        return self._taken_for.get(self._image(instance), [])

    def free_for(self, instance: int) -> NDArray[np.int32]:
        """Mask (c,) of what one instance may be given; not to be changed."""
        if not (self._barred or self._taken_for):
            return self.free
        mask = self.free.copy()
        mask[self.barred(instance)] = 0
        mask[self.taken_for(instance)] = 0
        return mask

    def can_fill(self, columns: Ids) -> bool:
        """Whether a set fits into the (k,) columns, given how many more of each text may be sampled."""
        if self._options.verbatim_cap is VerbatimCap.BEFORE_FLOOR:
            return len(columns) >= self._options.size
        numbers, counts = np.unique(self.numbers[columns], return_counts=True)
        return int(np.minimum(counts, self.left[numbers]).sum()) >= self._options.size

    def take(self, columns: Ids, instance: int) -> None:
        """Disqualify what was sampled for an instance."""
        if self._options.disqualification is Disqualification.GLOBAL:
            self.free[columns] = 0
            self.version += 1
        else:
            self._taken_for[self._image(instance)].extend(columns.tolist())
        if self._options.verbatim_cap is VerbatimCap.AT_SAMPLING:
            self.free[self.left[self.numbers] == 0] = 0
            self.version += 1

    def drop_used(self) -> bool:
        """Forget columns that nobody can have any more, once they are many; tell whether that was done."""
        stays = np.flatnonzero(self.free)
        if not 0 < len(stays) < COMPACT_BELOW * len(self.free):
            return False
        place = np.cumsum(self.free) - 1
        self._taken_for = defaultdict(
            list,
            {
                image: [int(place[column]) for column in columns if self.free[column]]
                for image, columns in self._taken_for.items()
            },
        )
        self.ids, self.numbers, self.free = self.ids[stays], self.numbers[stays], self.free[stays]
        self._find_barred()
        return True

    def _image(self, instance: int) -> Hashable:
        return self._image_ids[instance] if self._image_ids is not None else instance

    def _barring(self, instance: int) -> Hashable:
        return self._image(instance) if self._options.same_image is SameImage.FORBIDDEN else instance

    def _find_barred(self) -> None:
        if self._options.same_image is SameImage.ALLOWED and self._options.strictness is Strictness.ABOVE:
            return  # the gold is never above itself
        columns: dict[Hashable, list[int]] = defaultdict(list)
        for column, index in enumerate(self.ids.tolist()):
            columns[self._barring(index)].append(column)
        self._barred = {key: np.array(found, np.intp) for key, found in columns.items()}


@dataclass(frozen=True, slots=True)
class CountedBlock:
    """A scored block of (b,) instances.

    columns: what scored them. eligible: (b,) candidates of each if nothing were taken; available: those of them that
    are free. version: the pool's when they were counted.
    """

    instances: Ids
    scored: kernels.Block
    columns: Columns
    eligible: Counts
    available: Counts
    version: int


class Scorer:
    """Scores and counts instances against the pool, in blocks that take turns with a few buffers.

    Each thread multiplies and counts blocks of its own, and must multiply on one processor: so none waits for
    another at every block, as the threads of one product would.
    """

    def __init__(
        self,
        plausibility: Plausibility,
        pool: Pool,
        options: ComparisonSetOptions,
        work: Work,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._plausibility = plausibility
        self._pool = pool
        self._options = options
        self._work = work
        self._threads = threads

    def blocks(self, order: Ids) -> Iterator[CountedBlock]:
        """Score the (m,) instances in that order. A block is only valid until the next one is asked for.

        The next blocks are scored while the caller works on one, unless columns are dropped between them.
        """
        if self._options.shortcut is Shortcut.DROP_USED:
            yield from self._dropping(order)
            return
        columns = self._plausibility.columns(self._pool.ids)
        buffers = self._buffers(columns, len(order), self._work.threads + 1)  # one is with the caller
        coming: deque[Future[CountedBlock]] = deque()
        with columns.one_processor():
            try:
                for part, buffer in zip(blocks_of(len(order), len(buffers[0])), itertools.cycle(buffers)):
                    coming.append(self._threads.submit(self._score, columns, order[part], buffer))
                    if len(coming) == len(buffers):
                        yield coming.popleft().result()
                while coming:
                    yield coming.popleft().result()
            finally:
                for future in coming:
                    future.cancel()

    def _dropping(self, order: Ids) -> Iterator[CountedBlock]:
        """One block per thread; columns are dropped when the caller is done with all of them."""
        columns = self._plausibility.columns(self._pool.ids)
        buffers = self._buffers(columns, len(order), self._work.threads)
        parts = blocks_of(len(order), len(buffers[0]))
        while batch := list(itertools.islice(parts, len(buffers))):
            if self._pool.drop_used():
                columns = self._plausibility.columns(self._pool.ids)
                buffers = [_narrow(buffer, len(self._pool.ids)) for buffer in buffers]
            score = partial(self._score, columns)
            with columns.one_processor():
                scored = list(self._threads.map(score, [order[part] for part in batch], buffers))
            yield from scored

    def _score(self, columns: Columns, instances: Ids, buffer: NDArray[Any]) -> CountedBlock:
        """Score one block and count each part of it while its scores are in the processor's cache."""
        version = self._pool.version  # before counting: what is taken meanwhile makes the counts out of date
        opened = columns.open(instances, buffer)
        block = self._for_kernels(opened)
        counts = np.zeros((len(instances), 2), np.int64)
        for part in columns.fill(instances, opened):
            kernels.count_candidates(block, part.start, part.stop, self._pool.free, counts)
        kernels.discount_barred(block, *self._barred(instances), self._pool.free, counts)
        return CountedBlock(instances, block, columns, counts[:, 0], counts[:, 1], version)

    def candidates(self, block: CountedBlock, row: int) -> Ids:
        """The (k,) columns that one row could be given at this moment, ascending."""
        free = self._pool.free_for(int(block.instances[row]))
        return np.asarray(kernels.select_candidates(block.scored, row, free))

    def _buffers(self, columns: Columns, instances: int, count: int) -> list[NDArray[Any]]:
        width = len(self._pool.ids)
        rows = self._work.memory_mib * 2**20 // (count * max(1, width) * columns.dtype.itemsize)
        shape = (max(1, min(rows, MOST_ROWS, instances)), width)
        return [np.empty(shape, columns.dtype) for _ in range(count)]

    def _for_kernels(self, scored: ScoreBlock) -> kernels.Block:
        return kernels.Block(
            scores=scored.scores,
            low=scored.low,
            high=scored.high,
            golds=scored.golds,
            exact=scored.exact,
            slack=product_margin(scored.images),
            at_least=self._options.strictness is Strictness.AT_LEAST,
            images=scored.images,
            inferences=scored.inferences,
        )

    def _barred(self, instances: Ids) -> tuple[Ids, Ids]:
        lists = [self._pool.barred(instance) for instance in instances.tolist()]
        starts = np.zeros(len(lists) + 1, np.intp)
        np.cumsum([len(columns) for columns in lists], out=starts[1:])
        return starts, np.concatenate(lists) if starts[-1] else np.empty(0, np.intp)


def _narrow(buffer: NDArray[Any], width: int) -> NDArray[Any]:
    """The same memory as rows of fewer columns, still without gaps."""
    return buffer.reshape(-1)[: len(buffer) * width].reshape(len(buffer), width)
