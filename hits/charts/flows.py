"""Flow charts (Sankey diagrams): how many units lead from each group on the left to each on the right."""

from collections.abc import Sequence
from dataclasses import dataclass

from hits.charts.chart import TOP, Bar, Chart, Curve, Label
from hits.charts.scale import LABEL_HEIGHT, svg_pixels
from hits.domain.answers.text import shorten_text

HUES = 6
LEFT, RIGHT = 360.0, 640.0  # where the ribbons begin and end, in units of the view box (chart.WIDTH)
GROUP_GAP = 6.0  # pixels between two groups
MEAN_GROUP_HEIGHT = 30.0  # pixels
MIN_HEIGHT = 300.0  # pixels
MAX_RIBBONS = 400
LABEL_WORDS, NARROW_LABEL_WORDS = 4, 2  # words of a label on wide and on narrow screens
NARROW_LABEL_LENGTH = 18  # characters


@dataclass(frozen=True, slots=True)
class FlowSide:
    """The groups of one side: the words that describe each group, and the noun of what ``counts`` counts."""

    groups: Sequence[Sequence[str]]
    unit: str


def flow_chart_and_undrawn_count(
    counts: Sequence[Sequence[int]],
    left: FlowSide,
    right: FlowSide,
    *,
    titles: Sequence[Sequence[str]],
    summary: str,
) -> tuple[Chart, int]:
    """Return the chart, and how many units are in ribbons beyond ``MAX_RIBBONS``, which are not drawn.

    Args:
        counts: units from each left group (rows) to each right group (columns). titles: the tooltip of each ribbon.
    """
    gaps = GROUP_GAP * (len(counts) - 1)
    height = max(MIN_HEIGHT, MEAN_GROUP_HEIGHT * len(counts)) + gaps
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
        y += size * scale + GROUP_GAP
    return tops


def _nodes(
    side: FlowSide,
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
        bar = Bar(x, svg_pixels(TOP + top), "1%", svg_pixels(max(1.0, size * scale)), title, kind)
        narrow = shorten_text(", ".join(words[:NARROW_LABEL_WORDS]), NARROW_LABEL_LENGTH)
        labels = [
            Label(label_x, svg_pixels(TOP + middle + 4), f"{index + 1} {text}", anchor, kind=width)
            for width, text in (("wide", ", ".join(words[:LABEL_WORDS])), ("narrow", narrow))
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
                    Curve(f"ribbon hue-{i % HUES}", _ribbon_path(left[i], right[j], height), titles[i][j])
                )
            left[i] += height
            right[j] += height
    return ribbons, sum(count for count, _, _ in cells[MAX_RIBBONS:])


def _ribbon_path(start: float, end: float, height: float) -> str:
    """Return the SVG path of a ribbon of constant height from ``start`` on the left to ``end`` on the right."""
    middle, below = f"{(LEFT + RIGHT) / 2:.0f}", start + height
    left, right = f"{LEFT:.0f}", f"{RIGHT:.0f}"
    upper_edge = f"M{left} {start:.1f}C{middle} {start:.1f} {middle} {end:.1f} {right} {end:.1f}"
    return f"{upper_edge}V{end + height:.1f}C{middle} {end + height:.1f} {middle} {below:.1f} {left} {below:.1f}Z"
