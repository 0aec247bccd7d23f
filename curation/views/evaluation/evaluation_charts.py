"""What the plots of evaluations show: dots with intervals, P@1 against comparison, measures over batch sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.views.plots import Axis, Frame, Measured, Model, Plot, axis_over, draw_scatter
from validation.domain.reports.plots import decimals, percent

RIGHT_OF = 70.0  # percent of the width beyond which words stand left of their line
CURVE_HEIGHT = 200  # pixels
NARROWEST = 600.0  # pixels of a scatter across, where the page is wide enough for names


@dataclass(frozen=True, slots=True)
class Mark:
    """A dot with its whisker: ``low`` and ``width`` are ``None`` without an interval. ``kind`` is a class in CSS."""

    kind: str
    x: str
    low: str | None
    width: str | None
    words: str


@dataclass(frozen=True, slots=True)
class DotRow:
    """One line of dots: its name, where that leads, its dots, and what it says in words."""

    name: str
    url: str
    marks: tuple[Mark, ...]
    value: str
    interval: str
    words: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line across all rows, with its words and on which side of it they stand."""

    x: str
    words: str
    is_left: bool
    kind: str


@dataclass(frozen=True, slots=True)
class DotPlot:
    """Dots and intervals over one axis; ``interval_words`` say what an interval is."""

    title: str
    unit: str
    rows: tuple[DotRow, ...]
    ticks: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    note: str
    interval_words: str


@dataclass(frozen=True, slots=True)
class Named:
    """What a row of a dot plot has: figures as ``{"value", "low", "high"}`` by kind of dot."""

    name: str
    url: str
    figures: Mapping[str, Mapping[str, float | None]]


def dot_plot(
    title: str,
    rows: Sequence[Named],
    *,
    unit: str = "%",
    lines: Mapping[str, float] | None = None,
    note: str = "",
    interval_words: str = "95 % interval",
) -> DotPlot | None:
    """Return a plot of the rows that have a value; nothing when none has one.

    Args:
        lines: values that cross all rows by their words, such as people's.
    """
    kept = [row for row in rows if any(f.get("value") is not None for f in row.figures.values())]
    if not kept:
        return None
    held = [value for row in kept for figure in row.figures.values() for value in _numbers(figure)]
    axis = axis_over([*held, *(lines or {}).values()])
    drawn = tuple(
        Line(axis.x(value), f"{words} {decimals(value, 1)}", axis.at(value) > RIGHT_OF, f"line-{number}")
        for number, (words, value) in enumerate((lines or {}).items(), start=1)
    )
    made = tuple(_dot_row(row, axis, interval_words) for row in kept)
    return DotPlot(title, unit, made, tuple(axis.ticks()), drawn, note, interval_words)


def _numbers(figure: Mapping[str, float | None]) -> list[float]:
    """What an axis has to hold of a figure."""
    return [value for name in ("value", "low", "high") if (value := figure.get(name)) is not None]


def _dot_row(row: Named, axis: Axis, interval_words: str) -> DotRow:
    marks = tuple(
        _mark(kind, figure, axis, interval_words)
        for kind, figure in row.figures.items()
        if figure.get("value") is not None
    )
    first = row.figures.get("ours", {})
    value = first.get("value")
    said = "; ".join(mark.words for mark in marks)
    return DotRow(
        row.name,
        row.url,
        marks,
        "–" if value is None else decimals(value, 1),
        interval(first),
        f"{row.name}: {said}",
    )


def _mark(kind: str, figure: Mapping[str, float | None], axis: Axis, interval_words: str) -> Mark:
    value, low, high = figure["value"], figure.get("low"), figure.get("high")
    assert value is not None
    words = f"{kind} {decimals(value, 1)}"
    if low is None or high is None:
        return Mark(kind, axis.x(value), None, None, words)
    words = f"{words}, {interval_words} {decimals(low, 1)} to {decimals(high, 1)}"
    return Mark(kind, axis.x(value), axis.x(low), percent(axis.at(high) - axis.at(low)), words)


def interval(figure: Mapping[str, float | None]) -> str:
    """Return ``18.2 to 22.4``, or nothing without an interval."""
    low, high = figure.get("low"), figure.get("high")
    return "" if low is None or high is None else f"{decimals(low, 1)} to {decimals(high, 1)}"


def scatter(points: Sequence[Mapping[str, Any]], *, summary: str) -> Plot:
    """Return a scatter of ``{"x", "y", "label", "url", "kind"}``, at least one."""
    models = [
        Model(
            p_at_1=(point["x"], None, None),
            agreement=(point["y"], None, None),
            words=f"{point['label']}: P@1 {decimals(point['x'], 1)}, comparison {decimals(point['y'], 1)}",
            name=point["label"],
            kind=point["kind"],
            url=point["url"],
        )
        for point in points
    ]
    return draw_scatter(models, narrowest=NARROWEST, summary=summary)


def curve(title: str, series: Mapping[str, Sequence[tuple[int, Mapping[str, float | None]]]]) -> Plot | None:
    """Return a measure over a logarithmic axis of sizes; nothing when no series has a point.

    Args:
        series: by kind, such as ``paper`` and ``ours``: size and figure, ascending.
    """
    kept = {
        kind: [(size, found) for size, figure in points if (found := _measured(figure)) is not None]
        for kind, points in series.items()
    }
    sizes = sorted({size for points in kept.values() for size, _ in points})
    if not sizes:
        return None
    across = Axis(sizes[0] / 1.25, sizes[-1] * 1.25, is_log=True)
    held = [value for points in kept.values() for _, found in points for value in found if value is not None]
    frame = Frame(across, axis_over(held), CURVE_HEIGHT)
    points = {
        kind: [
            frame.point((size, None, None), found, f"{size}: {_words(found)}", kind=kind)
            for size, found in one
        ]
        for kind, one in kept.items()
    }
    said = [
        f"{kind.capitalize()}: {', '.join(point.words for point in one)}."
        for kind, one in points.items()
        if one
    ]
    return Plot(
        title=title,
        frame=frame,
        summary=f"{title} by batch size. {' '.join(said)}",
        x_ticks=[(across.x(size), str(size)) for size in sizes],
        y_ticks=frame.y_ticks(),
        points=[point for one in points.values() for point in one],
        paths=[
            frame.path(kind, [(size, found[0]) for size, found in one]) for kind, one in kept.items() if one
        ],
    )


def _measured(figure: Mapping[str, float | None]) -> Measured | None:
    value = figure.get("value")
    return None if value is None else (value, figure.get("low"), figure.get("high"))


def _words(found: Measured) -> str:
    value, low, high = found
    reach = interval({"low": low, "high": high})
    return decimals(value, 1) + (f" ({reach})" if reach else "")
