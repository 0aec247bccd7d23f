"""Scatter plots with named dots."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hits.charts.chart import TOP, Chart, DotName, PlotArea, Point, ReferenceLine, Table, ValueWithInterval
from hits.charts.scale import LABEL_HEIGHT, decimal_text, scale_over, svg_pixels

HEIGHT = 240  # pixels
LETTER_WIDTH = 6.4  # pixels
MAX_NAME_LENGTH = 24
Box = tuple[float, float, float, float]
_SIDES = (("start", 10, 4), ("end", -10, 4), ("middle", 0, -9), ("middle", 0, 17))


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
    names = _position_dot_names(
        list(zip(places, [point.name for point in points], strict=True)), y_label, (min_width, TOP + HEIGHT)
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


def _position_dot_names(dots: Sequence[tuple[Point, str]], y_label: str, end: Point) -> list[DotName | None]:
    """Return the names beside their dots, ``None`` where no side is free of texts and dots; first dots first."""
    taken: list[Box] = [(0.0, 0.0, LETTER_WIDTH * len(y_label), TOP)]
    taken += [(x - 5, y - 5, x + 5, y + 5) for (x, y), _ in dots]
    names: list[DotName | None] = []
    for (x, y), name in dots:
        text = name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 1]}…"
        sides = [
            (_text_box(x + dx, y + dy, text, anchor), DotName(text, dx, dy, anchor))
            for anchor, dx, dy in _SIDES
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
