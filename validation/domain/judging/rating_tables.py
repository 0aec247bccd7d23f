"""Turn answers of a judging kind into rating tables, one per dimension.

Scales run from low to high, as the kind's ``JudgingSpec`` has them. Free text makes no table.
"""

from collections.abc import Hashable, Iterable, Iterator

from validation.domain.judging.ratings import Columns, Judged, RatingError, RatingTable
from validation.domain.judging.spec import Dimension, JudgingSpec, Scale

TICKED = ("no", "yes")  # whether a label of a multiple choice was ticked


def tables(rows: Iterable[Judged], spec: JudgingSpec) -> dict[str, RatingTable]:
    """Return a table per dimension of ``spec`` but free text; a dimension that nobody judged has an empty one.

    An item is what was judged, or (item, part) where an answer judges several parts. Values are the labels where
    they are numbers, else 0, 1, 2 …; a dimension whose labels come with the units has the sorted labels that were
    chosen. Of several labels at once each label is an item, (item, label) or (item, part, label), that is "no" or
    "yes".

    A rater who judged an item twice (in two imported files, or as a repeated unit) is read once: the first row
    stands. A field that an answer leaves out is a missing rating.

    Raises:
        RatingError: a label that is not on its scale.
    """
    wanted = [one for one in spec.dimensions if one.scale is not Scale.TEXT]
    kept = list(rows) if any(not one.is_fixed for one in wanted) else rows
    found = {one.name: Columns(_scale(one, kept, spec)) for one in wanted}
    for row in kept:
        for name, item, label in labels_of(row, spec):
            if name in found:
                found[name].add(item, row.rater, label)
    return {one.name: found[one.name].table(_values(one)).first_of_each() for one in wanted}


def labels_of(row: Judged, spec: JudgingSpec) -> Iterator[tuple[str, Hashable, Hashable]]:
    """Yield ``(dimension, item, label)`` of one answer, as ``tables`` reads it; fields left out yield nothing."""
    for name, part, label in spec.labels(row.answer):
        item: Hashable = (row.item, part) if part else row.item
        dimension = spec.by_name.get(name)
        if dimension is not None and dimension.scale is Scale.MULTIPLE:
            yield from _ticked(dimension, row.item, part, label)
        else:
            yield name, item, label


def _ticked(
    dimension: Dimension, item: str, part: str, chosen: object
) -> Iterator[tuple[str, Hashable, Hashable]]:
    given = list(chosen) if isinstance(chosen, list | tuple) else []
    foreign = [label for label in given if label not in dimension.labels]
    if foreign:
        known = ", ".join(str(label) for label in dimension.labels)
        raise RatingError(f"item {item}: {foreign[0]!r} is no label of {dimension.name}; use {known}")
    for label in dimension.labels:
        place = (item, part, str(label)) if part else (item, str(label))
        yield dimension.name, place, TICKED[label in given]


def _scale(dimension: Dimension, rows: Iterable[Judged], spec: JudgingSpec) -> list[Hashable]:
    if dimension.scale is Scale.MULTIPLE:
        return list(TICKED)
    if dimension.is_fixed:
        return list(dimension.labels)
    chosen = {label for row in rows for name, _, label in spec.labels(row.answer) if name == dimension.name}
    return sorted(chosen, key=str)


def _values(dimension: Dimension) -> list[float] | None:
    if dimension.is_numeric and dimension.scale is not Scale.MULTIPLE:
        return list(dimension.values)
    return None
