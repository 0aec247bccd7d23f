"""Find all pairs of rows within a radius, block by block, in bounded memory."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from curation.dedup import kernels
from curation.dedup.kernels import ROUNDING
from curation.dedup.matmul_backends import BlockShape, MatmulBackend, MatmulThread, PreparedMatmul
from curation.dedup.rows import DistinctRows
from curation.dedup.thread_pool import MAX_AHEAD, ThreadPool
from curation.records import InvalidInput

MIB = 2**20
PAIR_BYTES = (
    16 + 32
)  # two row numbers and a distance while collecting; lists, distance and heap while merging
ROW_BYTES = 64  # arrays of one number per row, here and while merging
MAX_PAIRS = 2**30 - 1  # ends of pairs are 32-bit integers
MIN_PAIRS_PER_ROW = 4
THREAD_BUFFER_PAIRS = 2**15  # pairs that a thread finds before it computes their distances
_BLOCK_SIZES = ((2048, 2048), (1024, 2048), (512, 1024), (256, 512), (128, 512), (32, 64))
BLOCK_SHAPES = tuple(BlockShape(*sizes) for sizes in _BLOCK_SIZES)
STRIPS = 8  # a square block on the diagonal is cut into this many strips
FOUND_BYTES = 16  # of a pair that a thread found, until the caller adds it
BLOCK_SHARE = 4  # blocks in which every pair is near take at most 1 / BLOCK_SHARE of the memory


class TooManyPairs(InvalidInput):
    """More pairs are within the needed radius than fit into memory."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The division of the memory: the shape of a block of scores, and the maximum number of pairs."""

    block: BlockShape
    max_pairs: int


def plan_memory(
    rows: DistinctRows, merges: int, backend: MatmulBackend, thread_count: int, limit_bytes: int
) -> MemoryPlan:
    """Divide the memory beyond the features. merges: number of merges that need sums of vectors.

    Raises InvalidInput if the limit leaves no room for a few pairs per row.
    """
    n, d = len(rows), rows.dimensions
    per_score = thread_count * (4 + FOUND_BYTES * (MAX_AHEAD + 1))
    fitting = (block for block in BLOCK_SHAPES if BLOCK_SHARE * per_score * block.score_count <= limit_bytes)
    block = next(fitting, BLOCK_SHAPES[-1])
    fixed_bytes = (
        ROW_BYTES * rows.input_count
        + 8 * d * min(merges, n // 2)
        + backend.bytes_needed(n, d, block, thread_count)
    )
    fixed_bytes += rows.copied_bytes + FOUND_BYTES * thread_count * (
        THREAD_BUFFER_PAIRS + block.columns + (MAX_AHEAD + 1) * block.score_count
    )
    pair_room = (limit_bytes - fixed_bytes) // PAIR_BYTES
    if pair_room < MIN_PAIRS_PER_ROW * n:
        minimum = (fixed_bytes + MIN_PAIRS_PER_ROW * n * PAIR_BYTES) / MIB
        raise InvalidInput(
            f"memory: {limit_bytes / MIB:.0f} MiB is too little for {rows.input_count} rows of length {d}; "
            f"give at least {minimum:.0f} MiB"
        )
    return MemoryPlan(block, min(pair_room, MAX_PAIRS))


class StageClock:
    """Measures the seconds that each stage takes."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def add(self, name: str, seconds: float) -> None:
        """Add seconds of wall time to a stage. For work of several threads, pass the mean over the threads."""
        self.seconds[name] += seconds  # type: ignore[assignment]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the duration of the ``with`` block to a stage."""
        started = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - started)


class NearPairs:
    """The pairs within ``radius``, at most ``capacity``; if there are more, the radius shrinks.

    ends: (count, 2) rows, the lower one first. distances: (count,).
    """

    def __init__(self, capacity: int, radius: float) -> None:
        # The system allocates memory page by page on write: unused capacity costs nothing.
        self._ends = np.empty((capacity, 2), dtype=np.int32)
        self._distances = np.empty(capacity)
        self.count = 0
        self.radius = radius

    @property
    def ends(self) -> NDArray[np.int32]:
        """The two rows of each pair."""
        return self._ends[: self.count]

    @property
    def distances(self) -> NDArray[np.float64]:
        """The distance of each pair."""
        return self._distances[: self.count]

    def count_within(self, radius: float) -> int:
        """Return the number of pairs within a smaller radius."""
        return int(np.count_nonzero(self.distances <= radius))

    def radius_for_pair_count(self, pair_count: int) -> float:
        """Return the least radius with this many pairs; the whole radius if there are fewer."""
        if pair_count >= self.count:
            return self.radius
        return float(np.partition(self.distances, pair_count)[pair_count])

    def add(self, ends: NDArray[np.int32], distances: NDArray[np.float64]) -> None:
        """Add pairs. Raises TooManyPairs if even the nearest pairs, all equally near, do not fit."""
        while self.count + len(ends) > len(self._distances):
            self._shrink_radius()
            near = distances <= self.radius
            ends, distances = ends[near], distances[near]
        stop = self.count + len(ends)
        self._ends[self.count : stop] = ends
        self._distances[self.count : stop] = distances
        self.count = stop

    def _shrink_radius(self) -> None:
        """Drop about the farther half of the pairs, and at least one pair."""
        middle = self.radius_for_pair_count(self.count // 2)
        nearer = self.distances[self.distances < self.radius]
        if not len(nearer) and self.radius <= middle:
            raise TooManyPairs(
                f"memory: more than {len(self._distances)} pairs of rows lie within a distance of {self.radius:.4g}"
            )
        self.radius = middle if middle < self.radius else float(nearer.max())
        near = self.distances <= self.radius
        kept = int(np.count_nonzero(near))
        self._ends[:kept], self._distances[:kept] = self.ends[near], self.distances[near]
        self.count = kept


def block_slices(n: int, shape: BlockShape) -> list[tuple[slice, slice]]:
    """Return the blocks that cover every pair with row < column once, with little below the diagonal."""
    slices = []
    for top in range(0, n, shape.rows):
        bottom = min(top + shape.rows, n)
        strip = max(1, shape.rows // STRIPS)
        slices += [
            (slice(start, min(start + strip, bottom)), slice(start, bottom))
            for start in range(top, bottom, strip)
        ]
        slices += [
            (slice(top, bottom), slice(start, min(start + shape.columns, n)))
            for start in range(bottom, n, shape.columns)
        ]
    return slices


@dataclass(frozen=True, slots=True)
class _ThreadBuffers:
    """A thread's own buffers: for its matrix products, and for the pairs that it finds."""

    matmul: MatmulThread
    ends: NDArray[np.int32]
    distances: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _BlockPairs:
    """The pairs of one block within the radius, and the thread's seconds for finding them."""

    ends: NDArray[np.int32]
    distances: NDArray[np.float64]
    product_seconds: float
    scan_seconds: float


@dataclass(frozen=True, slots=True)
class PairSearch:
    """Collects pairs: the rows, their prepared matrix product, threads and memory plan."""

    rows: DistinctRows
    scores: PreparedMatmul
    threads: ThreadPool
    plan: MemoryPlan
    clock: StageClock

    def collect_pairs(self, radius: float, step: Callable[[], None]) -> NearPairs:
        """Return all pairs within the radius. If they do not fit into memory, the result has a smaller ``radius``."""
        pairs = NearPairs(self.plan.max_pairs, radius)
        buffer_size = THREAD_BUFFER_PAIRS + self.plan.block.columns
        with self.scores.threads(self.threads.size) as matmul_threads:
            free_buffers: SimpleQueue[_ThreadBuffers] = SimpleQueue()
            for matmul in matmul_threads:
                ends, distances = np.empty((buffer_size, 2), dtype=np.int32), np.empty(buffer_size)
                free_buffers.put(_ThreadBuffers(matmul, ends, distances))

            def work(area: tuple[slice, slice]) -> _BlockPairs:
                buffers = free_buffers.get()
                try:
                    return self._find_pairs(buffers, area, pairs.radius)
                finally:
                    free_buffers.put(buffers)

            for found in self.threads.map_ordered(work, block_slices(len(self.rows), self.plan.block)):
                pairs.add(found.ends, found.distances)
                self.clock.add("product", found.product_seconds / self.threads.size)
                self.clock.add("scan", found.scan_seconds / self.threads.size)
                step()
        return pairs

    def _find_pairs(self, buffers: _ThreadBuffers, area: tuple[slice, slice], radius: float) -> _BlockPairs:
        """Find the pairs of one block, one full buffer at a time."""
        started = time.perf_counter()
        words = buffers.matmul.block(*area)
        multiplied = time.perf_counter()
        lowest = self.scores.min_score(1.0 - radius - self._rounding_error())
        rows, columns = area
        corner = (rows.start, columns.start, columns.stop - columns.start)
        ends, distances, row = [], [], 0
        while row < len(words):
            row, found = kernels.find_candidate_pairs(
                words, self.scores.per_word, lowest, corner, (row, len(words)), buffers.ends
            )
            count = kernels.filter_by_radius(
                self.rows.values, self.rows.inverse_lengths, radius, buffers.ends[:found], buffers.distances
            )
            ends.append(buffers.ends[:count].copy())
            distances.append(buffers.distances[:count].copy())
        scan = time.perf_counter() - multiplied
        return _BlockPairs(np.concatenate(ends), np.concatenate(distances), multiplied - started, scan)

    def _rounding_error(self) -> float:
        """Return the bound of the error of a pair's float64 distance."""
        return 2 * (2 * self.rows.dimensions + 18) * ROUNDING
