"""Turn answers of the judging kinds into rating tables, one per dimension.

Scales run from low to high: the words of Sherlock's three questions (paper 001 A.3, figure 5) from the worst to the
best, the ratings of paper 001 E from 1 to 3. Regions that inferences are matched to (paper 000 §4.2) have no order.
doi:10.1007/978-3-031-20059-5_32
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from validation.domain.ratings import Columns, Judged, RatingError, RatingTable
from validation.domain.scales import SCALES, Rating

RATING = "rating"
MATCH = "match"

Value = TypeVar("Value")
_Row = tuple[str, Hashable, Hashable]  # dimension, item, label

# Each kind's dimensions, in the order in which reports show them.
DIMENSIONS: dict[str, tuple[str, ...]] = {
    "observation_review": tuple(dimension.value for dimension in SCALES),
    "likert_comparison": (RATING,),
    "localization_match": (MATCH,),
}


def in_order(kind: str, by_dimension: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """Return what is kept by dimension in the order in which reports show it; PostgreSQL's JSON has another."""
    return [(name, by_dimension[name]) for name in _dimensions(kind) if name in by_dimension]


def scale_of(kind: str, dimension: str) -> tuple[Hashable, ...]:
    """Return a dimension's labels from low to high; those of ``localization_match`` are known from answers alone.

    Raises:
        RatingError: a kind or dimension that is not judged, or one whose labels come with the answers.
    """
    if dimension not in _dimensions(kind) or kind == "localization_match":
        raise RatingError(f"{kind} has no fixed scale for {dimension!r}; use one of its dimensions")
    if kind == "likert_comparison":
        return tuple(int(rating) for rating in Rating)
    words = next(words for name, words in SCALES.items() if name.value == dimension)
    return tuple(str(word) for word in reversed(words))


def tables(rows: Iterable[Judged], kind: str) -> dict[str, RatingTable]:
    """Return a table per dimension of ``kind``; a dimension that nobody judged has an empty one.

    ``observation_review``: "reasonable", "boxes", "interesting"; an item is a pair's id, values are 0, 1, 2 …
    ``likert_comparison``: "rating"; an item is (set, candidate), values are 1, 2, 3. ``localization_match``: "match";
    an item is (set, inference), a label is the id of a region, and the scale the sorted ids that were chosen.

    A rater who judged an item twice (in two imported files, or as a repeated unit) is read once: the first row
    stands. A field that an answer leaves out is a missing rating.

    Raises:
        RatingError: an unknown kind, or a label that is not on its scale.
    """
    if kind == "localization_match":
        return {MATCH: _match_table(rows)}
    found = {name: Columns(scale_of(kind, name)) for name in _dimensions(kind)}
    read = _READERS[kind]
    for row in rows:
        for name, item, label in read(row.item, row.answer):
            found[name].add(item, row.rater, label)
    values = [int(rating) for rating in Rating] if kind == "likert_comparison" else None
    return {name: columns.table(values).first_of_each() for name, columns in found.items()}


def _match_table(rows: Iterable[Judged]) -> RatingTable:
    """Return the table of choices; its scale is known when all are read."""
    found = [(row.rater, item, label) for row in rows for _, item, label in _matches(row.item, row.answer)]
    columns = Columns(sorted({label for _, _, label in found}, key=str))
    for rater, item, label in found:
        columns.add(item, rater, label)
    return columns.table().first_of_each()


def labels_of(row: Judged) -> Iterator[tuple[str, Hashable, Hashable]]:
    """Yield ``(dimension, item, label)`` of one answer, as ``tables`` reads it; fields left out yield nothing.

    Raises:
        RatingError: an unknown kind.
    """
    _dimensions(row.kind)
    yield from _READERS[row.kind](row.item, row.answer)


def _dimensions(kind: str) -> tuple[str, ...]:
    if kind not in DIMENSIONS:
        raise RatingError(f"{kind!r} is no judging kind; use {', '.join(DIMENSIONS)}")
    return DIMENSIONS[kind]


def _review(item: str, answer: Mapping[str, Any]) -> Iterator[_Row]:
    for name in DIMENSIONS["observation_review"]:
        if answer.get(name) is not None:
            yield name, item, answer[name]


def _likert(item: str, answer: Mapping[str, Any]) -> Iterator[_Row]:
    for row in answer.get("ratings", ()):
        yield RATING, (item, row["candidate"]), row["rating"]


def _matches(item: str, answer: Mapping[str, Any]) -> Iterator[_Row]:
    for row in answer.get("matches", ()):
        yield MATCH, (item, row["inference"]), row["region"]


_READERS: dict[str, Callable[[str, Mapping[str, Any]], Iterator[_Row]]] = {
    "observation_review": _review,
    "likert_comparison": _likert,
    "localization_match": _matches,
}
