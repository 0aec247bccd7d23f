"""Rating tables: which rater gave which label to which item, and how answers become such tables.

The schema is the standard one, (task, worker, label), as in crowd-kit. A missing rating is an absent row; there is
no value for it.
"""

from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation.domain.judging.quality_check_types import CheckRole

IntArray = NDArray[np.int64]


class RatingError(ValueError):
    """The ratings form no valid table; the message names item, rater and label, and how to correct them."""


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Labels on one scale: ``items``, ``raters`` and ``labels`` are (n,) int64, one row per rating.

    ``items[k]`` indexes ``item_ids``, ``raters[k]`` ``rater_ids``, and ``labels[k]`` the ``scale``, which runs
    from low to high. ``values`` (len(scale),) float64 are the labels as numbers, for interval measures.
    A rater labels an item at most once.
    """

    items: IntArray
    raters: IntArray
    labels: IntArray
    item_ids: tuple[Hashable, ...]
    rater_ids: tuple[Hashable, ...]
    scale: tuple[Hashable, ...]
    values: NDArray[np.float64]

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[tuple[Hashable, Hashable, Hashable]],
        scale: Sequence[Hashable],
        values: Sequence[float] | None = None,
    ) -> "RatingTable":
        """Return the table of ``(item, rater, label)`` rows; ids keep the order in which they first occur.

        Args:
            rows: one per rating. scale: all labels, low to high. values: the labels as numbers; 0, 1, 2 … by default.

        Raises:
            RatingError: a label that is not on the scale, or two ratings of one item by one rater.
        """
        builder = RatingTableBuilder(scale)
        for item, rater, label in rows:
            builder.add(item, rater, label)
        table = builder.build(values)
        table._check_duplicates()
        return table

    def _check_duplicates(self) -> None:
        pairs = self.items * max(1, len(self.rater_ids)) + self.raters
        order = np.sort(pairs)
        repeated = order[1:][order[1:] == order[:-1]]
        if repeated.size:
            item, rater = divmod(int(repeated[0]), max(1, len(self.rater_ids)))
            raise RatingError(
                f"item {self.item_ids[item]}: rater {self.rater_ids[rater]} rated it twice; keep one rating"
            )

    @property
    def size(self) -> int:
        """The number of ratings."""
        return int(self.items.size)

    def label_counts(self) -> IntArray:
        """Return how often each label was given to each item: (items, labels)."""
        shape = (len(self.item_ids), len(self.scale))
        flat = np.bincount(self.items * shape[1] + self.labels, minlength=shape[0] * shape[1])
        return flat.astype(np.int64).reshape(shape)

    def set_codes(self) -> IntArray:
        """Return which items belong together, as codes (items,) in the order in which sets first occur.

        An item that is a tuple, such as (set, candidate), belongs to its first element; any other item is a set of
        its own.
        """
        if not any(isinstance(item, tuple) for item in self.item_ids):
            return np.arange(len(self.item_ids))
        code: dict[Hashable, int] = {}
        names = (item[0] if isinstance(item, tuple) else item for item in self.item_ids)
        return np.array([code.setdefault(name, len(code)) for name in names], dtype=np.int64)

    def without_duplicates(self) -> "RatingTable":
        """Return the table with only the first rating of each item by each rater."""
        pairs = self.items * max(1, len(self.rater_ids)) + self.raters
        first = np.unique(pairs, return_index=True)[1]
        if first.size == self.size:
            return self
        mask = np.zeros(self.size, dtype=np.bool_)
        mask[first] = True
        return self.where(mask)

    def where(self, mask: NDArray[np.bool_]) -> "RatingTable":
        """Return the ratings under ``mask`` (n,); ids stay, so codes keep their meaning."""
        return RatingTable(
            self.items[mask],
            self.raters[mask],
            self.labels[mask],
            self.item_ids,
            self.rater_ids,
            self.scale,
            self.values,
        )


class RatingTableBuilder:
    """Collects ratings one by one as numbers: 24 bytes per rating, and each id once."""

    def __init__(self, scale: Sequence[Hashable]) -> None:
        self.scale = tuple(scale)
        self._label_codes = {label: code for code, label in enumerate(self.scale)}
        # Ids get the numbers 0, 1, 2 … in the order of their first lookup.
        self._item_codes: dict[Hashable, int] = defaultdict(count().__next__)
        self._rater_codes: dict[Hashable, int] = defaultdict(count().__next__)
        self._items, self._raters, self._labels = array("q"), array("q"), array("q")

    def add(self, item: Hashable, rater: Hashable, label: Hashable) -> None:
        """Add one rating.

        Raises:
            RatingError: a label that is not on the scale.
        """
        code = self._label_codes.get(label)
        if code is None:
            known = ", ".join(str(word) for word in self.scale)
            raise RatingError(f"item {item}, rater {rater}: {label!r} is not on the scale; use {known}")
        self._items.append(self._item_codes[item])
        self._raters.append(self._rater_codes[rater])
        self._labels.append(code)

    def build(self, values: Sequence[float] | None = None) -> RatingTable:
        """Return the added ratings in order; ``values`` are the labels as numbers, 0, 1, 2 … by default."""
        numbers = range(len(self.scale)) if values is None else values
        return RatingTable(
            items=np.array(self._items, dtype=np.int64),
            raters=np.array(self._raters, dtype=np.int64),
            labels=np.array(self._labels, dtype=np.int64),
            item_ids=tuple(self._item_codes),
            rater_ids=tuple(self._rater_codes),
            scale=self.scale,
            values=np.array(numbers, dtype=np.float64),
        )


@dataclass(frozen=True, slots=True)
class JudgmentRow:
    """One person's answer to one unit of a judging kind, independent of Django.

    ``rater`` is ``w<primary key>`` of a marketplace worker, or ``i<keyed hash>`` of a rater of imported judgments;
    only the former has a ``worker`` (primary key). ``item`` is the id of the judged item, the same in every batch.
    ``unit``, ``batch``, ``assignment`` are primary keys; ``cents`` is the reward; ``at`` is aware UTC.
    """

    kind: str
    item: str
    rater: str
    answer: Mapping[str, Any]
    worker: int | None = None
    unit: int | None = None
    batch: int | None = None
    assignment: int | None = None
    seconds: float | None = None
    cents: int | None = None
    at: datetime | None = None
    role: CheckRole | None = None
    simulated: bool = False
