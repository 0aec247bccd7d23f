"""All pairs of rows within some distance, found block by block, in bounded memory."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from curation.dedup import kernels
from curation.dedup.crew import AHEAD, Crew
from curation.dedup.kernels import ROUNDING
from curation.dedup.products import Block, BlockProduct, Lane, Scores
from curation.dedup.rows import Rows
from curation.records import InvalidInput

MIB = 2**20
PAIR_BYTES = 16 + 32  # two names and a distance as collected; lists, distance and heap while merging
ROW_BYTES = 64  # columns of one number per row, here and while merging
MOST_PAIRS = 2**30 - 1  # ends of pairs are counted in 32 bits
FEWEST_PAIRS_PER_ROW = 4
ROOM = 2**15  # pairs that a thread finds before it measures them
BLOCKS = (
    Block(2048, 2048),
    Block(1024, 2048),
    Block(512, 1024),
    Block(256, 512),
    Block(128, 512),
    Block(32, 64),
)
STRIPS = 8  # that a square on the diagonal is cut into
FOUND_BYTES = 16  # a pair that a thread found, until it is taken in
BLOCK_SHARE = 4  # blocks and, were they all found, their pairs take at most 1 / BLOCK_SHARE of the memory


class TooManyPairs(InvalidInput):
    """More pairs lie within the distance that is needed than fit into memory."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the memory is used: the shape of a block of scores, and how many pairs may be held."""

    block: Block
    pairs: int


def plan(rows: Rows, merges: int, product: BlockProduct, workers: int, limit: int) -> Plan:
    """Divide the memory, beyond what the features take. merges: that need sums of vectors.

    Raises InvalidInput when the limit leaves no room for a few pairs per row.
    """
    n, d = len(rows), rows.dimensions
    per_score = workers * (4 + FOUND_BYTES * (AHEAD + 1))
    block = next((block for block in BLOCKS if BLOCK_SHARE * per_score * block.values <= limit), BLOCKS[-1])
    held = ROW_BYTES * rows.given + 8 * d * min(merges, n // 2) + product.bytes_needed(n, d, block, workers)
    held += rows.copied_bytes + FOUND_BYTES * workers * (ROOM + block.columns + (AHEAD + 1) * block.values)
    left = (limit - held) // PAIR_BYTES
    if left < FEWEST_PAIRS_PER_ROW * n:
        least = (held + FEWEST_PAIRS_PER_ROW * n * PAIR_BYTES) / MIB
        raise InvalidInput(
            f"memory: {limit / MIB:.0f} MiB is too little for {rows.given} rows of length {d}; "
            f"give at least {least:.0f} MiB"
        )
    return Plan(block, min(left, MOST_PAIRS))


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def add(self, name: str, seconds: float) -> None:
        """Add to a stage what threads took for it, as a share of the wall clock's."""
        self.seconds[name] += seconds  # type: ignore[assignment]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time that the ``with`` block takes to a stage."""
        started = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - started)


class NearPairs:
    """The pairs within ``reach``, at most ``capacity`` of them: when there are more, the reach comes down.

    ends: (count, 2) rows, the lower one first. distances: (count,).
    """

    def __init__(self, capacity: int, reach: float) -> None:
        # The system hands out memory page by page as it is written to: room that is not used costs nothing.
        self._ends = np.empty((capacity, 2), dtype=np.int32)
        self._distances = np.empty(capacity)
        self.count = 0
        self.reach = reach

    @property
    def ends(self) -> NDArray[np.int32]:
        """The two rows of each pair."""
        return self._ends[: self.count]

    @property
    def distances(self) -> NDArray[np.float64]:
        """The distance of each pair."""
        return self._distances[: self.count]

    def within(self, reach: float) -> int:
        """How many pairs lie within a smaller reach."""
        return int(np.count_nonzero(self.distances <= reach))

    def reach_of(self, pairs: int) -> float:
        """The least distance within which there are so many pairs; the whole reach when there are not."""
        if pairs >= self.count:
            return self.reach
        return float(np.partition(self.distances, pairs)[pairs])

    def add(self, ends: NDArray[np.int32], distances: NDArray[np.float64]) -> None:
        """Take in pairs. Raises TooManyPairs when even the nearest ones, all equally near, have no room."""
        while self.count + len(ends) > len(self._distances):
            self._come_down()
            near = distances <= self.reach
            ends, distances = ends[near], distances[near]
        stop = self.count + len(ends)
        self._ends[self.count : stop] = ends
        self._distances[self.count : stop] = distances
        self.count = stop

    def _come_down(self) -> None:
        """Give up about the farther half of the pairs, and always some."""
        middle = self.reach_of(self.count // 2)
        nearer = self.distances[self.distances < self.reach]
        if not len(nearer) and self.reach <= middle:
            raise TooManyPairs(
                f"memory: more than {len(self._distances)} pairs of rows lie within a distance of {self.reach:.4g}"
            )
        self.reach = middle if middle < self.reach else float(nearer.max())
        near = self.distances <= self.reach
        kept = int(np.count_nonzero(near))
        self._ends[:kept], self._distances[:kept] = self.ends[near], self.distances[near]
        self.count = kept


def blocks(n: int, shape: Block) -> list[tuple[slice, slice]]:
    """Rows and columns of blocks that cover every pair with row < column once; little below the diagonal."""
    found = []
    for top in range(0, n, shape.rows):
        bottom = min(top + shape.rows, n)
        strip = max(1, shape.rows // STRIPS)
        found += [
            (slice(start, min(start + strip, bottom)), slice(start, bottom))
            for start in range(top, bottom, strip)
        ]
        found += [
            (slice(top, bottom), slice(start, min(start + shape.columns, n)))
            for start in range(bottom, n, shape.columns)
        ]
    return found


@dataclass(frozen=True, slots=True)
class _Desk:
    """What a thread needs for itself: a lane of the product, and room for what it finds."""

    lane: Lane
    ends: NDArray[np.int32]
    distances: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Found:
    """The pairs within reach of one block, and the seconds that finding them took a thread."""

    ends: NDArray[np.int32]
    distances: NDArray[np.float64]
    product: float
    scan: float


@dataclass(frozen=True, slots=True)
class Search:
    """What collecting pairs needs: the rows, a product of them, threads, room, and whom to tell."""

    rows: Rows
    scores: Scores
    crew: Crew
    plan: Plan
    clock: Clock

    def collect(self, reach: float, step: Callable[[], None]) -> NearPairs:
        """All pairs of rows within reach, or within less when they are too many: see ``reach`` of the answer."""
        pairs = NearPairs(self.plan.pairs, reach)
        room = ROOM + self.plan.block.columns
        with self.scores.lanes(self.crew.size) as lanes:
            desks: SimpleQueue[_Desk] = SimpleQueue()
            for lane in lanes:
                desks.put(_Desk(lane, np.empty((room, 2), dtype=np.int32), np.empty(room)))

            def work(place: tuple[slice, slice]) -> _Found:
                desk = desks.get()
                try:
                    return self._sift(desk, place, pairs.reach)
                finally:
                    desks.put(desk)

            for found in self.crew.stream(work, blocks(len(self.rows), self.plan.block)):
                pairs.add(found.ends, found.distances)
                self.clock.add("product", found.product / self.crew.size)
                self.clock.add("scan", found.scan / self.crew.size)
                step()
        return pairs

    def _sift(self, desk: _Desk, place: tuple[slice, slice], reach: float) -> _Found:
        """Find the pairs of one block, a roomful at a time."""
        started = time.perf_counter()
        words = desk.lane.block(*place)
        multiplied = time.perf_counter()
        lowest = self.scores.lowest(1.0 - reach - self._rounding())
        rows, columns = place
        corner = (rows.start, columns.start, columns.stop - columns.start)
        ends, distances, row = [], [], 0
        while row < len(words):
            row, found = kernels.candidates(
                words, self.scores.per_word, lowest, corner, (row, len(words)), desk.ends
            )
            kept = kernels.within_reach(
                self.rows.values, self.rows.inverse, reach, desk.ends[:found], desk.distances
            )
            ends.append(desk.ends[:kept].copy())
            distances.append(desk.distances[:kept].copy())
        scan = time.perf_counter() - multiplied
        return _Found(np.concatenate(ends), np.concatenate(distances), multiplied - started, scan)

    def _rounding(self) -> float:
        """How far the float64 distance of a pair may be from the true one."""
        return 2 * (2 * self.rows.dimensions + 18) * ROUNDING
