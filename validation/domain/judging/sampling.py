"""Which accepted pairs go to judges: all, a random sample, those of some workers, or a stratified sample.

The seed is part of the selection, so that the same pairs and the same selection always give the same sample, in
whatever order the pairs are read. Sherlock validated 17K of its 363K pairs (paper 001 A.3).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

MOST_SEED = 2**31 - 1
NOWHERE = "no source"
NO_SPLIT = "no split"


class SelectionError(ValueError):
    """A selection that cannot be made; ``field`` names what to change."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(f"{field}: {message}")


class How(StrEnum):
    """How pairs are chosen."""

    ALL = "all"
    SAMPLE = "sample"
    WORKERS = "workers"
    STRATIFIED = "stratified"


class Stratum(StrEnum):
    """What a stratified sample is divided by."""

    WORKER = "worker"
    SPLIT = "split"
    CONFIDENCE = "confidence"
    SOURCE = "source"


WORDS = {
    Stratum.WORKER: "author",
    Stratum.SPLIT: "split",
    Stratum.CONFIDENCE: "confidence",
    Stratum.SOURCE: "source",
}


class Allotment(StrEnum):
    """How many come from each stratum: ``n`` in all, as the strata are large; or ``n`` from each."""

    PROPORTIONAL = "proportional"
    EQUAL = "equal"


class Candidate(NamedTuple):
    """A pair that may be chosen. ``worker`` is its author's row key, ``confidence`` 1 to 3.

    A corpus has hundreds of thousands, and a named tuple is made in a third of a frozen dataclass's time.
    """

    id: str
    worker: int
    split: str = ""
    confidence: int = 1
    source: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of pairs as plain data.

    ``n`` is how many a sample has: in all, or from each stratum (``allotment``); ``None`` takes all there are.
    ``workers`` are row keys of authors. ``again`` also takes pairs that were sent to judges before.
    """

    how: How = How.ALL
    n: int | None = None
    seed: int = 0
    workers: tuple[int, ...] = ()
    strata: Stratum | None = None
    allotment: Allotment = Allotment.PROPORTIONAL
    again: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= MOST_SEED:
            raise SelectionError("seed", f"use 0 to {MOST_SEED}")
        if self.n is not None and self.n < 1:
            raise SelectionError("n", "take at least one pair")
        if self.how in {How.SAMPLE, How.STRATIFIED} and self.n is None:
            raise SelectionError("n", "say how many")
        if self.how is How.WORKERS and not self.workers:
            raise SelectionError("workers", "name at least one worker")
        if self.how is How.STRATIFIED and self.strata is None:
            raise SelectionError("strata", f"divide by one of {', '.join(Stratum)}")

    def as_row(self) -> dict[str, Any]:
        """Return the selection as JSON keeps it."""
        return {
            "how": self.how.value,
            "n": self.n,
            "seed": self.seed,
            "workers": list(self.workers),
            "strata": self.strata.value if self.strata else None,
            "allotment": self.allotment.value,
            "again": self.again,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Selection":
        """Return the selection that ``as_row`` wrote; what is missing has its default."""
        return cls(
            how=How(row.get("how", How.ALL)),
            n=row.get("n"),
            seed=row.get("seed", 0),
            workers=tuple(row.get("workers", ())),
            strata=Stratum(row["strata"]) if row.get("strata") else None,
            allotment=Allotment(row.get("allotment", Allotment.PROPORTIONAL)),
            again=row.get("again", False),
        )

    @property
    def words(self) -> str:
        """The selection in words, with its seed where chance had a part."""
        if self.how is How.ALL:
            return "all pairs"
        if self.how is How.WORKERS:
            named = ", ".join(f"W-{pk}" for pk in self.workers[:5])
            more = len(self.workers) - 5
            return f"all pairs of {named}{f' and {more} more' if more > 0 else ''}"
        if self.how is How.SAMPLE:
            return f"random sample of {self.n}, seed {self.seed}"
        assert self.strata is not None
        by = WORDS[self.strata]
        if self.allotment is Allotment.EQUAL:
            return f"{self.n} from each {by}, seed {self.seed}"
        return f"stratified sample of {self.n} by {by}, seed {self.seed}"


def choose(items: Sequence[Candidate], selection: Selection) -> list[Candidate]:
    """Return the chosen pairs in the order of ``items``; fewer than asked for where there are fewer.

    Args:
        items: what may be chosen, each id once.
    """
    if selection.how is How.ALL:
        return list(items)
    if selection.how is How.WORKERS:
        wanted = set(selection.workers)
        return [item for item in items if item.worker in wanted]
    assert selection.n is not None
    rng = np.random.default_rng(selection.seed)
    if selection.how is How.SAMPLE:
        ids = _draw([item.id for item in items], selection.n, rng)
    else:
        assert selection.strata is not None
        ids = _stratified(grouped(items, selection.strata), selection.n, selection.allotment, rng)
    return [item for item in items if item.id in ids]


def grouped(items: Iterable[Candidate], by: Stratum) -> dict[str, list[str]]:
    """Return the ids of each stratum by its name, in the order of the names."""
    # Named once a stratum and not once a pair, of which a corpus has hundreds of thousands.
    column = Candidate._fields.index(by)
    by_value: defaultdict[Any, list[str]] = defaultdict(list)
    for item in items:
        by_value[item[column]].append(item.id)
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for value, ids in by_value.items():
        groups[_name_of(value, by)] += ids
    return dict(sorted(groups.items()))


def _name_of(value: Any, by: Stratum) -> str:
    if by is Stratum.WORKER:
        return f"W-{value}"
    return str(value) or (NO_SPLIT if by is Stratum.SPLIT else NOWHERE)


def shares(sizes: Sequence[int], n: int, rng: np.random.Generator) -> list[int]:
    """Divide ``n`` in proportion to ``sizes``; each gets its exact share rounded down or up, never more than a size.

    Rounding is by lot, in a systematic sample over the strata in random order (Madow 1949,
    doi:10.1214/aoms/1177729988), so that every pair has the same chance, also where strata outnumber ``n``. Largest
    remainders would take the same strata under every seed, and of the small ones never any. The sum is
    ``min(n, sum(sizes))``.
    """
    whole = sum(sizes)
    n = min(n, whole)
    found = [0 for _ in sizes]
    if not whole:
        return found
    start = int(rng.integers(whole))
    reached = before = 0  # in units of 1/whole; points of the sample stand at start, start + whole, ...
    for at in rng.permutation(len(sizes)):
        reached += sizes[at] * n
        points = (reached - start + whole - 1) // whole
        found[at] = points - before
        before = points
    return found


@lru_cache(maxsize=1024)  # the pairs of one photo follow one another
def source_of(url: str) -> str:
    """Return the host from which a photo came, without ``www.``; empty for photos without an address."""
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _draw(ids: Iterable[str], n: int, rng: np.random.Generator) -> set[str]:
    """Return ``n`` ids drawn without replacement. A larger ``n`` of the same seed keeps the smaller one's ids."""
    pool = sorted(ids)
    return {pool[at] for at in rng.permutation(len(pool))[:n]}


def _stratified(
    groups: Mapping[str, Sequence[str]], n: int, allotment: Allotment, rng: np.random.Generator
) -> set[str]:
    sizes = [len(ids) for ids in groups.values()]
    counts = [n] * len(sizes) if allotment is Allotment.EQUAL else shares(sizes, n, rng)
    found: set[str] = set()
    for ids, count in zip(groups.values(), counts, strict=True):
        found |= _draw(ids, count, rng)
    return found
