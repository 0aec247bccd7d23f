"""Select the accepted pairs to judge: all, a random sample, those of some workers, or a stratified sample.

The seed is part of the selection: the same pairs and the same selection always give the same sample, in any order of
the pairs. Sherlock validated 17K of its 363K pairs (Hessel et al. 2022, supplement A.3).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

MAX_SEED = 2**31 - 1
NO_SOURCE = "no source"
NO_SPLIT = "no split"


class SelectionError(ValueError):
    """The selection cannot be made; ``field`` names what to change."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(f"{field}: {message}")


class SelectionMethod(StrEnum):
    """How pairs are selected."""

    ALL = "all"
    SAMPLE = "sample"
    WORKERS = "workers"
    STRATIFIED = "stratified"


class Stratum(StrEnum):
    """The attribute that a stratified sample is divided by."""

    WORKER = "worker"
    SPLIT = "split"
    CONFIDENCE = "confidence"
    SOURCE = "source"


STRATUM_LABELS = {
    Stratum.WORKER: "author",
    Stratum.SPLIT: "split",
    Stratum.CONFIDENCE: "confidence",
    Stratum.SOURCE: "source",
}


class Allocation(StrEnum):
    """How a stratified sample is divided: ``n`` in all, in proportion to the strata; or ``n`` from each."""

    PROPORTIONAL = "proportional"
    EQUAL = "equal"


class SelectablePair(NamedTuple):
    """A pair that can be selected. ``worker`` is its author's primary key, ``confidence`` is 1 to 3.

    A corpus has hundreds of thousands of pairs; a named tuple takes a third of a frozen dataclass's time to make.
    """

    id: str
    worker: int
    split: str = ""
    confidence: int = 1
    source: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of pairs as plain data.

    ``n`` is the size of a sample: in all, or from each stratum (see ``allocation``); ``None`` takes all pairs.
    ``workers`` are primary keys of authors. ``include_judged`` also selects pairs that were sent to judges before.
    """

    method: SelectionMethod = SelectionMethod.ALL
    n: int | None = None
    seed: int = 0
    workers: tuple[int, ...] = ()
    stratify_by: Stratum | None = None
    allocation: Allocation = Allocation.PROPORTIONAL
    include_judged: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= MAX_SEED:
            raise SelectionError("seed", f"use 0 to {MAX_SEED}")
        if self.n is not None and self.n < 1:
            raise SelectionError("n", "use at least 1 pair")
        if self.method in {SelectionMethod.SAMPLE, SelectionMethod.STRATIFIED} and self.n is None:
            raise SelectionError("n", "give the size of the sample")
        if self.method is SelectionMethod.WORKERS and not self.workers:
            raise SelectionError("workers", "name at least one worker")
        if self.method is SelectionMethod.STRATIFIED and self.stratify_by is None:
            raise SelectionError("strata", f"stratify by one of {', '.join(Stratum)}")

    def as_row(self) -> dict[str, Any]:
        """Return the selection as plain data that JSON can hold."""
        return {
            "how": self.method.value,
            "n": self.n,
            "seed": self.seed,
            "workers": list(self.workers),
            "strata": self.stratify_by.value if self.stratify_by else None,
            "allotment": self.allocation.value,
            "again": self.include_judged,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Selection":
        """Return the selection that ``as_row`` wrote; missing keys have their default."""
        return cls(
            method=SelectionMethod(row.get("how", SelectionMethod.ALL)),
            n=row.get("n"),
            seed=row.get("seed", 0),
            workers=tuple(row.get("workers", ())),
            stratify_by=Stratum(row["strata"]) if row.get("strata") else None,
            allocation=Allocation(row.get("allotment", Allocation.PROPORTIONAL)),
            include_judged=row.get("again", False),
        )

    @property
    def description(self) -> str:
        """The selection as text, with its seed if it is random."""
        if self.method is SelectionMethod.ALL:
            return "all pairs"
        if self.method is SelectionMethod.WORKERS:
            named = ", ".join(f"W-{pk}" for pk in self.workers[:5])
            more = len(self.workers) - 5
            return f"all pairs of {named}{f' and {more} more' if more > 0 else ''}"
        if self.method is SelectionMethod.SAMPLE:
            return f"random sample of {self.n}, seed {self.seed}"
        assert self.stratify_by is not None
        stratum_label = STRATUM_LABELS[self.stratify_by]
        if self.allocation is Allocation.EQUAL:
            return f"{self.n} from each {stratum_label}, seed {self.seed}"
        return f"stratified sample of {self.n} by {stratum_label}, seed {self.seed}"


def select_pairs(items: Sequence[SelectablePair], selection: Selection) -> list[SelectablePair]:
    """Return the selected pairs in the order of ``items``; fewer than requested if there are fewer.

    Args:
        items: the pairs to select from, each id once.
    """
    if selection.method is SelectionMethod.ALL:
        return list(items)
    if selection.method is SelectionMethod.WORKERS:
        worker_pks = set(selection.workers)
        return [item for item in items if item.worker in worker_pks]
    assert selection.n is not None
    rng = np.random.default_rng(selection.seed)
    if selection.method is SelectionMethod.SAMPLE:
        ids = _draw_ids([item.id for item in items], selection.n, rng)
    else:
        assert selection.stratify_by is not None
        ids = _draw_stratified_ids(
            ids_by_stratum(items, selection.stratify_by), selection.n, selection.allocation, rng
        )
    return [item for item in items if item.id in ids]


def ids_by_stratum(items: Iterable[SelectablePair], stratum: Stratum) -> dict[str, list[str]]:
    """Return the ids of each stratum by its name, in the order of the names."""
    # A name is made once per stratum and not once per pair: a corpus has hundreds of thousands of pairs.
    column = SelectablePair._fields.index(stratum)
    by_value: defaultdict[Any, list[str]] = defaultdict(list)
    for item in items:
        by_value[item[column]].append(item.id)
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for value, ids in by_value.items():
        groups[_stratum_name(value, stratum)] += ids
    return dict(sorted(groups.items()))


def _stratum_name(value: Any, stratum: Stratum) -> str:
    if stratum is Stratum.WORKER:
        return f"W-{value}"
    return str(value) or (NO_SPLIT if stratum is Stratum.SPLIT else NO_SOURCE)


def allocate_proportionally(sizes: Sequence[int], n: int, rng: np.random.Generator) -> list[int]:
    """Divide ``n`` in proportion to ``sizes``; each gets its exact share rounded down or up, never more than a size.

    Rounding is random: a systematic sample over the strata in random order (Madow 1949,
    doi:10.1214/aoms/1177729988) gives every pair the same chance, even if strata outnumber ``n``. Largest remainders
    would select the same strata under every seed and never the small ones. The sum is ``min(n, sum(sizes))``.
    """
    total = sum(sizes)
    n = min(n, total)
    counts = [0 for _ in sizes]
    if not total:
        return counts
    start = int(rng.integers(total))
    # In units of 1/total; the sample's points are start, start + total, ...
    cumulative = previous_points = 0

    for stratum in rng.permutation(len(sizes)):
        cumulative += sizes[stratum] * n
        points = (cumulative - start + total - 1) // total
        counts[stratum] = points - previous_points
        previous_points = points
    return counts


@lru_cache(maxsize=1024)  # consecutive pairs share a photo
def source_host(url: str) -> str:
    """Return the host of a photo's address without ``www.``; empty for photos without an address."""
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _draw_ids(ids: Iterable[str], n: int, rng: np.random.Generator) -> set[str]:
    """Return ``n`` ids drawn without replacement. With one seed, a larger ``n`` includes the smaller one's ids."""
    pool = sorted(ids)
    return {pool[index] for index in rng.permutation(len(pool))[:n]}


def _draw_stratified_ids(
    groups: Mapping[str, Sequence[str]], n: int, allocation: Allocation, rng: np.random.Generator
) -> set[str]:
    sizes = [len(ids) for ids in groups.values()]
    counts = [n] * len(sizes) if allocation is Allocation.EQUAL else allocate_proportionally(sizes, n, rng)
    selected: set[str] = set()
    for ids, count in zip(groups.values(), counts, strict=True):
        selected |= _draw_ids(ids, count, rng)
    return selected
