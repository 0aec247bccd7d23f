"""Charts of evaluations: dots with intervals, comparison over P@1, measures over batch sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.evaluation.measures import COMPARISON, P_AT_1, Measure
from hits.charts.chart import Chart, Label, PlotArea, ReferenceLine, Table, Tick, ValueWithInterval
from hits.charts.scale import Scale, decimal_text, scale_over
from hits.charts.scatters import ScatterPoint, scatter
from hits.charts.strips import axis_strip, dot_strip

LABEL_SIDE = 70.0  # percent of the width; labels further right are left of their line
CURVE_HEIGHT = 200  # pixels
MIN_WIDTH = 600.0  # pixels; a scatter plot that is narrower has no room for names
Figure = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class DotRow:
    """One row of a dot plot: its name and link, its strip chart, and our value with its interval."""

    name: str
    url: str
    strip: Chart
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class DotPlot:
    """Dots and intervals over one axis; ``interval_label`` names the kind of interval."""

    title: str
    unit: str
    rows: tuple[DotRow, ...]
    axis: Chart
    line_labels: Chart | None
    note: str
    interval_label: str


@dataclass(frozen=True, slots=True)
class DotRowData:
    """The data of a row of a dot plot: figures as ``{"value", "low", "high"}`` by kind of dot."""

    name: str
    url: str
    figures: Mapping[str, Figure]


def dot_plot(
    title: str,
    rows: Sequence[DotRowData],
    *,
    unit: str = "%",
    lines: Mapping[str, float] | None = None,
    note: str = "",
    interval_label: str = "95% interval",
) -> DotPlot | None:
    """Return a plot of the rows that have a value; ``None`` if no row has one.

    Args:
        lines: reference values by label, such as human performance; each is drawn as a line across all rows.
    """
    lines = lines or {}
    drawn = [row for row in rows if any(f.get("value") is not None for f in row.figures.values())]
    if not drawn:
        return None
    values = [value for row in drawn for figure in row.figures.values() for value in _figure_numbers(figure)]
    scale = scale_over([*values, *lines.values()])
    rules = [
        ReferenceLine(x=scale.x(value), kind=f"line-{n}") for n, value in enumerate(lines.values(), start=1)
    ]
    round_values, digits = scale.round_tick_values()
    return DotPlot(
        title,
        unit,
        tuple(_dot_row(row, scale, rules, interval_label) for row in drawn),
        axis_strip([(value, decimal_text(value, digits), "") for value in round_values], scale),
        _line_label_chart(lines, scale, rules) if lines else None,
        note,
        interval_label,
    )


def _figure_numbers(figure: Figure) -> list[float]:
    return [value for name in ("value", "low", "high") if (value := figure.get(name)) is not None]


def _line_label_chart(lines: Mapping[str, float], scale: Scale, rules: Sequence[ReferenceLine]) -> Chart:
    """Return a chart with the labels of the lines, one below the other, for the top of the plot."""
    labels = []
    for index, (text, value) in enumerate(lines.items()):
        anchor = "end" if scale.position(value) > LABEL_SIDE else "start"
        label = f"{text} {decimal_text(value, 1)}"
        labels.append(Label(scale.x(value), str(10 + 14 * index), label, anchor, kind=rules[index].kind))
    return Chart("", 16 + 14 * len(lines), kind="lines", is_strip=True, labels=labels)


def _dot_row(row: DotRowData, scale: Scale, rules: Sequence[ReferenceLine], interval_label: str) -> DotRow:
    dots = [
        (kind, found, _dot_title(kind, figure, interval_label))
        for kind, figure in row.figures.items()
        if (found := _value_with_interval(figure)) is not None
    ]
    first = row.figures.get("ours", {})
    value = first.get("value")
    summary = f"{row.name}: {'; '.join(title for _, _, title in dots)}"
    strip = dot_strip(dots, scale, reference_lines=rules, summary=summary)
    return DotRow(
        row.name, row.url, strip, "–" if value is None else decimal_text(value, 1), format_interval(first)
    )


def _dot_title(kind: str, figure: Figure, interval_label: str) -> str:
    title, interval_text = f"{kind} {decimal_text(figure['value'] or 0.0, 1)}", format_interval(figure)
    return f"{title}, {interval_label} {interval_text}" if interval_text else title


def format_interval(figure: Figure) -> str:
    """Return a figure's interval as ``18.2 to 22.4``; empty if it has none."""
    low, high = figure.get("low"), figure.get("high")
    return "" if low is None or high is None else f"{decimal_text(low, 1)} to {decimal_text(high, 1)}"


def axis_label(measure: Measure) -> str:
    """Return the label of a measure's axis."""
    return f"{measure.title} ({measure.axis})"


def comparison_scatter(points: Sequence[Mapping[str, Any]], *, summary: str) -> Chart:
    """Return a scatter plot of comparison over P@1, with a dot for each ``{"x", "y", "label", "url", "kind"}``.

    Source: figure 6 of Hessel et al. 2022, doi:10.1007/978-3-031-20059-5_32.
    """
    models = [
        ScatterPoint(
            x=(point["x"], None, None),
            y=(point["y"], None, None),
            title=f"{point['label']}: P@1 {decimal_text(point['x'], 1)}, comparison {decimal_text(point['y'], 1)}",
            name=point["label"],
            kind=point["kind"],
            url=point["url"],
        )
        for point in points
    ]
    return scatter(
        models,
        x_label=axis_label(P_AT_1),
        y_label=axis_label(COMPARISON),
        min_width=MIN_WIDTH,
        summary=summary,
    )


def batch_size_chart(title: str, series: Mapping[str, Sequence[tuple[int, Figure]]]) -> Chart | None:
    """Return a chart of a measure over batch sizes (logarithmic axis); ``None`` if no series has a point.

    Args:
        series: (size, figure) points in ascending order, by kind such as ``paper`` and ``ours``.
    """
    known = {
        kind: [
            (size, found) for size, figure in points if (found := _value_with_interval(figure)) is not None
        ]
        for kind, points in series.items()
    }
    sizes = sorted({size for points in known.values() for size, _ in points})
    if not sizes:
        return None
    x_scale = Scale(sizes[0] / 1.25, sizes[-1] * 1.25, is_log=True)
    found_values = (found for points in known.values() for _, found in points)
    values = [value for found in found_values for value in found if value is not None]
    plot = PlotArea(x_scale, scale_over(values), CURVE_HEIGHT)
    dots = {
        kind: [
            plot.dot((size, None, None), found, f"{size}: {_figure_text(found)}", kind=kind)
            for size, found in one
        ]
        for kind, one in known.items()
    }
    titles = {kind: ", ".join(dot.title for dot in one) for kind, one in dots.items() if one}
    sentences = [f"{kind.capitalize()}: {title}." for kind, title in titles.items()]
    return Chart(
        summary=f"{title} by batch size. {' '.join(sentences)}",
        height=CURVE_HEIGHT,
        title=title,
        kind="line",
        x_label="pairs per step",
        x_ticks=[Tick(x_scale.x(size), str(size)) for size in sizes],
        y_ticks=plot.y_ticks(),
        dots=[dot for one in dots.values() for dot in one],
        curves=[
            plot.curve(kind, [(size, found[0]) for size, found in one]) for kind, one in known.items() if one
        ],
        table=Table(
            ("Batch size", *(kind.capitalize() for kind in known)),
            [(str(size), *(_figure_text_at(size, one) for one in known.values())) for size in sizes],
        ),
    )


def _figure_text_at(size: int, points: Sequence[tuple[int, ValueWithInterval]]) -> str:
    return next((_figure_text(found) for at, found in points if at == size), "–")


def _value_with_interval(figure: Figure) -> ValueWithInterval | None:
    value = figure.get("value")
    return None if value is None else (value, figure.get("low"), figure.get("high"))


def _figure_text(found: ValueWithInterval) -> str:
    value, low, high = found
    interval_text = format_interval({"low": low, "high": high})
    return decimal_text(value, 1) + (f" ({interval_text})" if interval_text else "")
