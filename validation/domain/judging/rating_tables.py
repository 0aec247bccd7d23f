"""Turn answers of a judging kind into rating tables, one per dimension except free text.

Scales run from low to high, in the order of the kind's ``JudgingSpec``.
"""

from collections.abc import Hashable, Iterable, Iterator

from validation.domain.judging.ratings import JudgmentRow, RatingError, RatingTable, RatingTableBuilder
from validation.domain.judging.spec import Dimension, JudgingSpec, Scale

TICK_LABELS = ("no", "yes")  # whether a label of a multiple choice was ticked


def build_tables(rows: Iterable[JudgmentRow], spec: JudgingSpec) -> dict[str, RatingTable]:
    """Return a table per dimension of ``spec`` except free text; a dimension without ratings has an empty table.

    An item is the judged item, or (item, part) if an answer judges several parts. Values are the labels if they are
    numbers, else 0, 1, 2 …; the scale of a dimension without fixed labels is the sorted list of chosen labels. In a
    multiple choice each label is an item, (item, label) or (item, part, label), with the label "no" or "yes".

    If a rater judged an item twice (in two imported files, or as a repeated unit), only the first row counts. A field
    that an answer leaves out is a missing rating.

    Raises:
        RatingError: a label that is not on its scale.
    """
    dimensions = [dimension for dimension in spec.dimensions if dimension.scale is not Scale.TEXT]
    materialised = list(rows) if any(not dimension.has_fixed_labels for dimension in dimensions) else rows
    builders = {
        dimension.name: RatingTableBuilder(_scale(dimension, materialised, spec)) for dimension in dimensions
    }
    for row in materialised:
        for name, item, label in item_labels(row, spec):
            if name in builders:
                builders[name].add(item, row.rater, label)
    return {
        dimension.name: builders[dimension.name].build(_scale_values(dimension)).without_duplicates()
        for dimension in dimensions
    }


def item_labels(row: JudgmentRow, spec: JudgingSpec) -> Iterator[tuple[str, Hashable, Hashable]]:
    """Yield ``(dimension, item, label)`` of one answer, as in ``build_tables``; missing fields yield nothing."""
    for name, part, label in spec.labels(row.answer):
        item: Hashable = (row.item, part) if part else row.item
        dimension = spec.dimensions_by_name.get(name)
        if dimension is not None and dimension.scale is Scale.MULTIPLE:
            yield from _yes_no_labels(dimension, row.item, part, label)
        else:
            yield name, item, label


def _yes_no_labels(
    dimension: Dimension, item: str, part: str, chosen: object
) -> Iterator[tuple[str, Hashable, Hashable]]:
    chosen_labels = list(chosen) if isinstance(chosen, list | tuple) else []
    foreign = [label for label in chosen_labels if label not in dimension.labels]
    if foreign:
        known = ", ".join(str(label) for label in dimension.labels)
        raise RatingError(f"item {item}: {foreign[0]!r} is not a label of {dimension.name}; use {known}")

    for label in dimension.labels:
        item_id = (item, part, str(label)) if part else (item, str(label))
        yield dimension.name, item_id, TICK_LABELS[label in chosen_labels]


def _scale(dimension: Dimension, rows: Iterable[JudgmentRow], spec: JudgingSpec) -> list[Hashable]:
    if dimension.scale is Scale.MULTIPLE:
        return list(TICK_LABELS)
    if dimension.has_fixed_labels:
        return list(dimension.labels)
    chosen = {label for row in rows for name, _, label in spec.labels(row.answer) if name == dimension.name}
    return sorted(chosen, key=str)


def _scale_values(dimension: Dimension) -> list[float] | None:
    if dimension.is_numeric and dimension.scale is not Scale.MULTIPLE:
        return list(dimension.values)
    return None
