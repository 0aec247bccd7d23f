"""Figures of image triplets as cells of tables: one decimal on the page, and the stored number beside it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hits.charts.scale import decimal_text
from validation.domain.agreement.pairwise import MIN_BOOTSTRAP_VALUES

PERCENT, POINTS, ALPHA = "%", "points", "alpha"
_PLACES: Mapping[str, int] = {PERCENT: 1, POINTS: 2, ALPHA: 3}
NO_VALUE = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure: its text, its interval, its n and what they count, and the stored number to its last digit.

    lacks_interval: an interval was asked for, and there are too few values for one.
    """

    value: str = NO_VALUE
    exact: str = ""
    interval: str = ""
    count: int | None = None
    note: str = ""
    lacks_interval: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether there is a value."""
        return self.value != NO_VALUE


@dataclass(frozen=True, slots=True)
class Column:
    """The heading of a column of figures, and its meaning in one phrase."""

    label: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table of comparisons. saw: what the model saw. settings: those that differ from the usual ones."""

    name: str
    saw: str
    cells: Sequence[tuple[Column, Cell]]
    url: str = ""
    settings: str = ""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of one origin: this project, or a published table."""

    title: str
    rows: Sequence[Row]
    is_paper: bool = False


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """Ours beside the published figures. id: of its section on the page."""

    id: str
    title: str
    columns: Sequence[Column]
    groups: Sequence[RowGroup]
    note: str = ""

    @property
    def width(self) -> int:
        """The number of columns, with the name and what was seen."""
        return len(self.columns) + 2


def figure_cell(
    figure: Mapping[str, Any] | None, count: int | None = None, *, unit: str = PERCENT, note: str = ""
) -> Cell:
    """Return the cell of a stored figure ``{"value", "low", "high"}``; a dash without a value."""
    value = (figure or {}).get("value")
    if figure is None or value is None:
        return Cell(count=count if figure is not None else None)
    low, high = figure.get("low"), figure.get("high")
    places = _PLACES[unit]
    interval = ""
    if low is not None and high is not None:
        interval = f"{decimal_text(low, places)} to {decimal_text(high, places)}"
    lacks_interval = "low" in figure and not interval
    return Cell(decimal_text(value, places), json.dumps(value), interval, count, note, lacks_interval)


def interval_note(cells: Iterable[Cell]) -> str:
    """Return why some figures of a table have no interval; empty if all of them have one."""
    if not any(cell.lacks_interval for cell in cells):
        return ""
    return (
        f"A figure of fewer than {MIN_BOOTSTRAP_VALUES} values has no interval, nor has one whose "
        "bootstrap draws are all equal."
    )


def gap_side(first: float | None, second: float | None) -> str:
    """Return in which position gold is chosen more often; empty if in neither."""
    if first is None or second is None or first == second:
        return ""
    return "first higher" if first > second else "second higher"


def number_cell(
    value: float | None, count: int | None = None, *, unit: str = PERCENT, note: str = ""
) -> Cell:
    """Return the cell of a stored number without an interval; a dash without a value."""
    return figure_cell({"value": value}, count, unit=unit, note=note)


def count_cell(value: int | None) -> Cell:
    """Return the cell of a count; a dash without one."""
    return Cell() if value is None else Cell(f"{value:,}", json.dumps(value))


def paper_cell(value: float | None) -> Cell:
    """Return a published figure with as many digits as it was published."""
    return Cell() if value is None else Cell(f"{value:g}".replace("-", "−"))
