"""Turn a judgment into rows for exported files, one row per rating."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from validation.domain.judging.ratings import JudgmentRow, RatingError
from validation.domain.judging.spec import LABEL_SEPARATOR, Dimension, JudgingSpec, Scale


class RaterRow(NamedTuple):
    """One rating. ``item`` is the item's key; a rated part follows after a slash.

    ``label`` holds the labels of a multiple choice joined by "|". ``value`` is the label's rank on its scale from low
    to high, from 0, or the label itself if labels are numbers. ``rater`` is a keyed hash; ``seconds`` are the active
    seconds of the whole answer; ``submitted_at`` is aware UTC.
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


COLUMNS = RaterRow._fields


def rater_rows(judgment: JudgmentRow, rater: str, spec: JudgingSpec) -> Iterator[RaterRow]:
    """Yield a row for each rating of one judgment, except empty texts; ``rater`` is the keyed hash of its rater.

    Raises:
        RatingError: a label that is not on its scale; the message names item and label.
    """
    for name, part, label in spec.labels(judgment.answer):
        text, value = _format_label(judgment, spec.dimension(name), label)
        if not text:
            continue
        yield RaterRow(
            judgment.kind,
            judgment.batch,
            f"{judgment.item}/{part}" if part else judgment.item,
            name,
            text,
            value,
            rater,
            judgment.seconds,
            judgment.at,
            judgment.simulated,
            judgment.worker is None,
        )


def _format_label(judgment: JudgmentRow, dimension: Dimension, label: Any) -> tuple[str, float | None]:
    """Return a label as the text of a cell, and its value."""
    if dimension.scale is Scale.MULTIPLE:
        return LABEL_SEPARATOR.join(str(each) for each in label) or LABEL_SEPARATOR, None
    if dimension.scale is Scale.TEXT or not dimension.has_fixed_labels:
        return str(label), None
    try:
        return str(label), dimension.values[dimension.labels.index(label)]
    except ValueError:
        raise RatingError(
            f"item {judgment.item}: {label!r} is not on the scale of {dimension.name}"
        ) from None
