"""Scatter plots with named dots."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hits.charts.chart import TOP, Chart, DotName, PlotArea, Point, ReferenceLine, Table, ValueWithInterval
from hits.charts.scale import LABEL_HEIGHT, decimal_text, scale_over, svg_pixels
from hits.domain.answers.text import shorten_text

HEIGHT = 240  # pixels
LETTER_WIDTH = 6.4  # pixels
MAX_NAME_LENGTH = 24
Box = tuple[float, float, float, float]
_SIDES = (("start", 10, 4), ("end", -10, 4), ("middle", 0, -9), ("middle", 0, 17))
_CORNERS = (("start", 8, -8), ("start", 8, 16), ("end", -8, -8), ("end", -8, 16))


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    """One dot: its values, its tooltip ``title``, and the ``name`` beside it, empty for none."""

    x: ValueWithInterval
    y: ValueWithInterval
    title: str
    name: str = ""
    kind: str = ""
    url: str = ""


def scatter(
    points: Sequence[ScatterPoint],
    *,
    x_label: str,
    y_label: str,
    min_width: float,
    summary: str,
    references: Sequence[tuple[float, str]] = (),
    note: str = "",
) -> Chart:
    """Return a scatter plot.

    Args:
        min_width: the chart width in pixels for which names are placed; on wider charts none overlap.
        references: y values of horizontal lines, with their labels.
    """
    plot = PlotArea(
        scale_over([value for point in points for value in point.x if value is not None]),
        scale_over(
            [value for point in points for value in point.y if value is not None] + [v for v, _ in references]
        ),
        HEIGHT,
    )
    dots = [plot.dot(point.x, point.y, point.title, kind=point.kind, url=point.url) for point in points]
    places = [(min_width * plot.x_scale.position(point.x[0]) / 100, plot.y(point.y[0])) for point in points]
    reserved = [(0.0, 0.0, LETTER_WIDTH * len(y_label), TOP), *_dot_boxes(plot, points, min_width)]
    names = _position_dot_names(
        list(zip(places, [point.name for point in points], strict=True)), reserved, (min_width, TOP + HEIGHT)
    )
    return Chart(
        summary=summary,
        height=HEIGHT,
        kind="scatter",
        x_ticks=plot.x_ticks(),
        y_ticks=plot.y_ticks(),
        note=note,
        x_label=x_label,
        y_label=y_label,
        dots=[replace(dot, name=name) for dot, name in zip(dots, names, strict=True)],
        reference_lines=[ReferenceLine(y=svg_pixels(plot.y(value))) for value, _ in references],
        labels=plot.end_labels(references, strong_index=None),
        table=Table(
            ("Name", x_label, y_label),
            [
                (point.name or point.title, decimal_text(point.x[0], 1), decimal_text(point.y[0], 1))
                for point in points
            ],
        ),
    )


def _dot_boxes(plot: PlotArea, points: Sequence[ScatterPoint], min_width: float) -> Iterator[Box]:
    """Yield left, top, right and bottom of the dots and their error bars in pixels, with a margin around them."""
    for point in points:
        xs = [min_width * plot.x_scale.position(value) / 100 for value in point.x if value is not None]
        ys = [plot.y(value) for value in point.y if value is not None]
        yield min(xs) - 10, ys[0] - 1, max(xs) + 10, ys[0] + 1
        yield xs[0] - 5, min(ys) - 5, xs[0] + 5, max(ys) + 5


def _position_dot_names(
    dots: Sequence[tuple[Point, str]], reserved: Sequence[Box], end: Point
) -> list[DotName | None]:
    """Return the names beside their dots, ``None`` where no side is free of texts, dots and ``reserved``."""
    taken = [*reserved]
    names: list[DotName | None] = []
    for (x, y), name in dots:
        text = shorten_text(name, MAX_NAME_LENGTH)
        sides = [
            (_text_box(x + dx, y + dy, text, anchor), DotName(text, dx, dy, anchor))
            for anchor, dx, dy in _SIDES + _CORNERS
        ]
        free = [
            (box, one)
            for box, one in sides
            if text and box[0] >= 0 and box[1] >= 0 and box[2] <= end[0] and box[3] <= end[1]
            if not any(_boxes_overlap(box, other) for other in taken)
        ]
        taken += [box for box, _ in free[:1]]
        names.append(free[0][1] if free else None)
    return names


def _text_box(x: float, y: float, text: str, anchor: str) -> Box:
    """Return left, top, right and bottom of a text whose base line is at ``y``."""
    width = LETTER_WIDTH * len(text)
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return left, y - 4 - LABEL_HEIGHT / 2, left + width, y - 4 + LABEL_HEIGHT / 2


def _boxes_overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
