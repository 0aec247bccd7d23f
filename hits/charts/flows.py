"""Flows: how many things lead from each group on the left to each group on the right."""

from collections.abc import Sequence
from dataclasses import dataclass

from hits.charts.chart import TOP, Bar, Chart, Curve, Label
from hits.charts.scale import LABEL_HEIGHT, pixels

HUES = 6
LEFT, RIGHT = 360.0, 640.0  # where the ribbons begin and end, of 1000 across
GAP = 6.0  # pixels between two groups
BAND = 30.0  # pixels of a group, on average
MIN_HEIGHT = 300.0  # pixels
MAX_RIBBONS = 400
LABEL_WORDS, SHORT_WORDS = 4, 2


@dataclass(frozen=True, slots=True)
class Side:
    """The groups of one side, as the words that name each."""

    groups: Sequence[Sequence[str]]
    unit: str


def flow_chart(
    counts: Sequence[Sequence[int]], left: Side, right: Side, *, titles: Sequence[Sequence[str]], summary: str
) -> tuple[Chart, int]:
    """Return the chart, and how many things lie in ribbons too small to be drawn.

    Args:
        counts: (left, right) numbers. titles: of each ribbon.
    """
    gaps = GAP * (len(counts) - 1)
    height = max(MIN_HEIGHT, BAND * len(counts)) + gaps
    scale = (height - gaps) / max(1, sum(map(sum, counts)))
    rows = [sum(row) for row in counts]
    columns = [sum(row[j] for row in counts) for j in range(len(counts[0]))]
    starts, ends = _stacked_tops(rows, scale), _stacked_tops(columns, scale)
    curves, undrawn = _ribbons(counts, titles, starts, ends, scale)
    nodes = [
        *_nodes(left, rows, starts, scale, x="35%", label_x="34%", anchor="end", has_hue=True),
        *_nodes(right, columns, ends, scale, x="64%", label_x="66%", anchor="start", has_hue=False),
    ]
    return Chart(
        summary=summary,
        height=round(height),
        kind="flow",
        has_base=False,
        curves=curves,
        bars=[bar for bar, _ in nodes],
        labels=[label for _, labels in nodes for label in labels],
    ), undrawn


def _stacked_tops(sizes: Sequence[int], scale: float) -> list[float]:
    tops, y = [], 0.0
    for size in sizes:
        tops.append(y)
        y += size * scale + GAP
    return tops


def _nodes(
    side: Side,
    sizes: Sequence[int],
    tops: Sequence[float],
    scale: float,
    *,
    x: str,
    label_x: str,
    anchor: str,
    has_hue: bool,
) -> list[tuple[Bar, list[Label]]]:
    nodes, free = [], 0.0
    for index, (words, size, top) in enumerate(zip(side.groups, sizes, tops, strict=True)):
        middle = max(top + size * scale / 2, free + LABEL_HEIGHT / 2)
        free = middle + LABEL_HEIGHT / 2
        title = f"{index + 1}: {', '.join(words)} ({size} {side.unit})"
        kind = f"node hue-{index % HUES}" if has_hue else "node"
        bar = Bar(x, pixels(TOP + top), "1%", pixels(max(1.0, size * scale)), title, kind)
        labels = [
            Label(
                label_x,
                pixels(TOP + middle + 4),
                f"{index + 1} {', '.join(words[:count])}",
                anchor,
                kind=width,
            )
            for width, count in (("wide", LABEL_WORDS), ("narrow", SHORT_WORDS))
        ]
        nodes.append((bar, labels))
    return nodes


def _ribbons(
    counts: Sequence[Sequence[int]],
    titles: Sequence[Sequence[str]],
    starts: Sequence[float],
    ends: Sequence[float],
    scale: float,
) -> tuple[list[Curve], int]:
    cells = sorted(
        ((count, i, j) for i, row in enumerate(counts) for j, count in enumerate(row) if count), reverse=True
    )
    drawn = {(i, j) for _, i, j in cells[:MAX_RIBBONS]}
    left, right, ribbons = list(starts), list(ends), []
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            height = count * scale
            if (i, j) in drawn:
                ribbons.append(
                    Curve(f"ribbon hue-{i % HUES}", _band(left[i], right[j], height), titles[i][j])
                )
            left[i] += height
            right[j] += height
    return ribbons, sum(count for count, _, _ in cells[MAX_RIBBONS:])


def _band(start: float, end: float, height: float) -> str:
    """Return a band of one height between two sides."""
    middle, below = f"{(LEFT + RIGHT) / 2:.0f}", start + height
    left, right = f"{LEFT:.0f}", f"{RIGHT:.0f}"
    there = f"M{left} {start:.1f}C{middle} {start:.1f} {middle} {end:.1f} {right} {end:.1f}"
    return f"{there}V{end + height:.1f}C{middle} {end + height:.1f} {middle} {below:.1f} {left} {below:.1f}Z"
