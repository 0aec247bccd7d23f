"""Histograms and bar charts."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from hits.charts.chart import Bar, Chart, Label, PlotArea, ReferenceLine, Table, Tick
from hits.charts.scale import (
    LABEL_HEIGHT,
    Scale,
    decimal_text,
    scale_with_round_quarters,
    svg_percent,
    svg_pixels,
)

HEIGHT = 120  # pixels
MAX_RIGHT_LABEL_X = 60.0  # percent of the width; beyond it, a label stands left of its line
MAX_TICKS = 12  # whole numbers that fit side by side below bars on a phone
Reference = tuple[float | None, str, str]
"""A value, its label and its kind: ``mark`` or ``target`` (dashed)."""


def histogram(
    binned: Mapping[str, Any],
    *,
    references: Sequence[Reference],
    unit: str,
    summary: str,
    is_open: bool = True,
) -> Chart | None:
    """Return the bars of ``hits.domain.binning.bin_counts`` with reference lines; ``None`` without values.

    Args:
        unit: of the values, as in ``"30 s"``. references: a value beyond the axis is drawn at its end. is_open:
            whether the last bar holds all larger values too.
    """
    counts: Sequence[int] = binned.get("counts", [])
    if not counts:
        return None
    width = float(binned["width"])
    end = width * len(counts)
    headroom = 1.25 if references else 1  # for the labels above the bars
    plot = PlotArea(Scale(0.0, end), scale_with_round_quarters(headroom * max(counts)), HEIGHT)
    ranges = [
        _bin_text(index, width, unit, is_last=is_open and index == len(counts) - 1)
        for index in range(len(counts))
    ]
    drawn = [(index, count) for index, count in enumerate(counts) if count]
    return Chart(
        summary=f"{summary}: {', '.join(f'{count} {ranges[index]}' for index, count in drawn)}",
        height=HEIGHT,
        kind="histogram",
        x_label=unit,
        bars=[plot.bar(i * width, (i + 1) * width, count, f"{count}: {ranges[i]}") for i, count in drawn],
        x_ticks=[
            Tick(svg_percent(100 * share), f"{end * share:g}{'+' if is_open and share == 1 else ''}")
            for share in (0.0, 0.25, 0.5, 0.75, 1.0)
        ],
        y_ticks=plot.quarter_ticks(lambda value: f"{value:g}"),
        **_reference_marks(plot, references),
        table=Table((unit.capitalize(), "Count"), [(ranges[index], str(count)) for index, count in drawn]),
    )


def _bin_text(index: int, width: float, unit: str, *, is_last: bool) -> str:
    if is_last:
        return f"{index * width:g} {unit} or more"
    return f"{index * width:g} to {(index + 1) * width:g} {unit}"


def _reference_marks(plot: PlotArea, references: Sequence[Reference]) -> dict[str, Any]:
    """Return the reference lines and their labels, one label below the other."""
    lines, labels = [], []
    known = sorted((value, text, kind) for value, text, kind in references if value is not None)
    for index, (value, text, kind) in enumerate(known):
        x, y = plot.x_scale.position(value), 12 + LABEL_HEIGHT * index
        is_left = x > MAX_RIGHT_LABEL_X
        lines.append(ReferenceLine(x=svg_percent(x), top=svg_pixels(y), kind=kind))
        labels.append(
            Label(
                svg_percent(x),
                svg_pixels(y),
                text,
                "end" if is_left else "start",
                -6 if is_left else 6,
                "strong",
            )
        )
    return {"reference_lines": lines, "labels": labels}


def bar_chart(
    counts: Sequence[int], *, summary: str, x_label: str, unit: str, threshold: int, threshold_label: str
) -> Chart | None:
    """Return a bar for each whole number from 0, with its count above it; ``None`` if all counts are 0.

    A line stands before ``threshold``, and bars below it have the kind ``light``.
    """
    if not any(counts):
        return None
    plot = PlotArea(Scale(0.0, len(counts)), scale_with_round_quarters(max(counts)), HEIGHT + 20)
    bars, labels = [], []
    for number, count in enumerate(counts):
        kind = "" if number >= threshold else "light"
        bars.append(plot.bar(number, number + 1, count, f"{count} with {number}", kind=kind))
        if count:
            x, y = plot.x_scale.x(number + 0.5), plot.y(count) - 9
            labels.append(Label(x, svg_pixels(y), str(count), "middle", kind="strong"))
    position = min(threshold, len(counts))
    line = plot.x_scale.x(position)
    is_left = plot.x_scale.position(position) > MAX_RIGHT_LABEL_X
    return Chart(
        summary=summary,
        height=plot.height,
        kind="bars",
        x_label=x_label,
        bars=bars,
        labels=[
            *labels,
            Label(line, "4", threshold_label, "end" if is_left else "start", -6 if is_left else 6),
        ],
        reference_lines=[ReferenceLine(x=line)],
        x_ticks=[
            Tick(
                plot.x_scale.x(number + 0.5),
                str(number),
                "minor" if number % 2 and len(counts) > MAX_TICKS else "",
            )
            for number in range(len(counts))
        ],
        y_ticks=plot.quarter_ticks(lambda value: f"{value:g}"),
        table=Table((x_label.capitalize(), unit), [(str(n), str(count)) for n, count in enumerate(counts)]),
    )


def overlaid_histograms(
    series: Sequence[tuple[str, Sequence[int], float]],
    axis: tuple[float, float],
    *,
    summary: str,
    note: str,
    table_unit: str,
) -> Chart:
    """Return histograms over one axis; the bars of each series are shares of its total.

    Args:
        series: name (also the CSS class), counts by bin, and median. axis: the ends of the first and the last bin.
    """
    shares = [[count / sum(counts) for count in counts] for _, counts, _ in series]
    highest = max(max(row) for row in shares)
    plot = PlotArea(Scale(*axis), Scale(0.0, highest), HEIGHT)
    step = (axis[1] - axis[0]) / len(series[0][1])
    edges = [axis[0] + step * index for index in range(len(series[0][1]) + 1)]
    ranges = [f"{decimal_text(low, 2)} to {decimal_text(high, 2)}" for low, high in itertools.pairwise(edges)]
    bars: list[Bar] = []
    for (name, counts, _), row in zip(series, shares, strict=True):
        bars += [
            plot.bar(edges[i], edges[i + 1], share, f"{ranges[i]}: {counts[i]}", kind=name)
            for i, share in enumerate(row)
            if share
        ]
    medians = [(median, f"{name} {decimal_text(median, 2)}", f"mark {name}") for name, _, median in series]
    return Chart(
        summary=summary,
        height=HEIGHT,
        kind="overlaid",
        note=note,
        bars=bars,
        x_ticks=plot.x_ticks(6),
        y_ticks=plot.quarter_ticks(lambda value: f"{100 * value:.0f}%"),
        **_reference_marks(plot, medians),
        legend=[(name, name.capitalize()) for name, _, _ in series],
        table=Table(
            (table_unit, *(name.capitalize() for name, _, _ in series)),
            [(ranges[i], *(str(counts[i]) for _, counts, _ in series)) for i in range(len(ranges))],
        ),
    )
