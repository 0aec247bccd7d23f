"""One judgment as plain rows, one per rating, for files that leave the project."""

from collections.abc import Hashable, Iterator
from datetime import datetime
from functools import cache
from typing import NamedTuple

from validation.domain.ratings import Judged, RatingError
from validation.domain.report import item_name
from validation.domain.scales import Rating
from validation.domain.tables import MATCH, RATING, labels_of, scale_of

COLUMNS = (
    "kind",
    "batch",
    "item",
    "dimension",
    "label",
    "value",
    "rater",
    "seconds",
    "submitted_at",
    "simulated",
    "imported",
)


class RaterRow(NamedTuple):
    """One rating. ``item`` is the item's key, with the rated part behind a slash where there is one.

    ``value`` is the label's place on its scale from low to high, from 0, and 1 to 3 for ratings; ``rater`` a keyed
    hash; ``seconds`` the active ones of the whole answer; ``submitted_at`` aware UTC.
    """

    kind: str
    batch: int | None
    item: str
    dimension: str
    label: str
    value: float | None
    rater: str
    seconds: float | None
    submitted_at: datetime | None
    simulated: bool
    imported: bool


def rater_rows(judgment: Judged, rater: str) -> Iterator[RaterRow]:
    """Yield a row for each rating of one judgment; ``rater`` is the keyed hash of who made it.

    Raises:
        RatingError: a label that is not on its scale; the message names item and label.
    """
    for name, item, label in labels_of(judgment):
        yield RaterRow(
            judgment.kind,
            judgment.batch,
            "/".join(part for part in item_name(item) if part),
            name,
            str(label),
            _value(judgment, name, label),
            rater,
            judgment.seconds,
            judgment.at,
            judgment.simulated,
            judgment.worker is None,
        )


def _value(judgment: Judged, name: str, label: Hashable) -> float | None:
    if name == MATCH:
        return None
    value = _values(judgment.kind, name).get(label)
    if value is None:
        raise RatingError(f"item {judgment.item}: {label!r} is not on the scale of {name}")
    return value


@cache
def _values(kind: str, name: str) -> dict[Hashable, float]:
    numbers = [int(rating) for rating in Rating] if name == RATING else range(len(scale_of(kind, name)))
    return {label: float(number) for label, number in zip(scale_of(kind, name), numbers, strict=True)}
