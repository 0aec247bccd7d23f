"""Geometry of the plots of texts: numbers in, attributes of SVG shapes out.

Widths are percentages and heights pixels, so that a plot fits a phone and its words keep their size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from validation.domain.reports.plots import percent, pixels

TOP, HEIGHT = 48.0, 90.0  # of a histogram's bars, in pixels
HUES = 6
LEFT, RIGHT = 36.0, 64.0  # where the ribbons begin and end, percent
LINE = 15.0  # between two labels, pixels
GAP = 6.0
BAND = 30.0  # pixels of a topic, on average
MOST_RIBBONS = 400
HEAT_STEPS = 9
LABEL_WORDS, SHORT_WORDS = 4, 2


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar; ``words`` says its range and count."""

    x: str
    x2: str
    width: str
    y: str
    height: str
    words: str


@dataclass(frozen=True, slots=True)
class Series:
    """The bars of one kind of text, as shares of its own whole."""

    name: str
    bins: tuple[Bin, ...]
    median_x: str
    median: str
    label_y: str
    is_left: bool


@dataclass(frozen=True, slots=True)
class Overlaid:
    """Histograms over one axis."""

    series: tuple[Series, ...]
    ticks: tuple[tuple[str, str], ...]
    summary: str


def overlaid(result: Mapping[str, Any]) -> Overlaid:
    """Return the histograms of a comparison with captions: inferences, clues, and captions among themselves."""
    low, high, _ = result["axis"]
    named = [(name, result[name]) for name in ("inferences", "clues", "captions") if result[name]["count"]]
    most = max(max(found["bins"]) / found["count"] for _, found in named)
    series = []
    for place, (name, found) in enumerate(named):
        x = 100 * (min(high, max(low, found["median"])) - low) / (high - low)
        bins = _bars([count / found["count"] / most for count in found["bins"]], (low, high), found["bins"])
        label_y = pixels(6 + LINE * place)
        series.append(Series(name, bins, percent(x), f"{found['median']:.2f}", label_y, x > 70))  # noqa: PLR2004
    ticks = tuple(
        (percent(100 * step / 6), f"{round(low + (high - low) * step / 6, 1) + 0.0:.1f}") for step in range(7)
    )
    said = ", ".join(f"median of {one.name} {one.median}" for one in series)
    return Overlaid(tuple(series), ticks, f"Cosine with captions: {said}")


def _bars(
    heights: Sequence[float], axis: tuple[float, float], counts: Sequence[int], unit: str = ""
) -> tuple[Bin, ...]:
    each, (low, high) = 100 / len(heights), axis
    step = (high - low) / len(heights)
    return tuple(
        Bin(
            x=percent(each * i + each * 0.05),
            x2=percent(each * (i + 0.95)),
            width=percent(each * 0.9),
            y=pixels(TOP + HEIGHT * (1 - height)),
            height=pixels(HEIGHT * height),
            words=f"{low + step * i:.2f} to {low + step * (i + 1):.2f}{unit}: {counts[i]}",
        )
        for i, height in enumerate(heights)
        if counts[i]
    )


def score_bars(counts: Sequence[int]) -> tuple[Bin, ...]:
    """Return bars of how many texts have which score, 0 to 1; nothing when none has any."""
    most = max(counts, default=0)
    return _bars([count / most for count in counts], (0.0, 1.0), counts) if most else ()


@dataclass(frozen=True, slots=True)
class Node:
    """A topic at one side of the flow."""

    y: str
    height: str
    label_y: str
    label: str
    short: str
    hue: int
    words: str


@dataclass(frozen=True, slots=True)
class Ribbon:
    """The pairs that lead from a clue topic to an inference topic."""

    path: str
    hue: int
    words: str


@dataclass(frozen=True, slots=True)
class Flow:
    """Topics of clues on the left, of inferences on the right, and ribbons as wide as their pairs are many."""

    height: str
    left: tuple[Node, ...]
    right: tuple[Node, ...]
    ribbons: tuple[Ribbon, ...]
    undrawn: int
    summary: str


def flow(result: Mapping[str, Any]) -> Flow:
    """Return the flow of an analysis of topics."""
    counts: list[list[int]] = result["flow"]
    total = max(1, result["in_flow"])
    height = max(300.0, BAND * len(counts)) + GAP * (len(counts) - 1)
    scale = (height - GAP * (len(counts) - 1)) / total
    rows = [sum(row) for row in counts]
    columns = [sum(row[j] for row in counts) for j in range(len(counts[0]))]
    starts, ends = _stacked(rows, scale), _stacked(columns, scale)
    ribbons, undrawn = _ribbons(result, starts, ends, scale)
    most = max(range(len(rows)), key=rows.__getitem__)
    top = ", ".join(word for word, _ in result["clues"]["topics"][most]["words"][:3])
    return Flow(
        height=f"{height:.0f}",
        left=_nodes(result["clues"]["topics"], rows, starts, scale),
        right=_nodes(result["inferences"]["topics"], columns, ends, scale),
        ribbons=ribbons,
        undrawn=undrawn,
        summary=f"{result['in_flow']} pairs from {len(rows)} topics of clues to {len(columns)} topics of "
        f"inferences; the largest topic of clues is {top}. The table on the analysis’ page has every number.",
    )


def _stacked(sizes: Sequence[int], scale: float) -> list[float]:
    tops, y = [], 0.0
    for size in sizes:
        tops.append(y)
        y += size * scale + GAP
    return tops


def _nodes(
    topics: Sequence[Mapping[str, Any]], sizes: Sequence[int], tops: Sequence[float], scale: float
) -> tuple[Node, ...]:
    nodes, free = [], 0.0
    for number, (topic, size, y) in enumerate(zip(topics, sizes, tops, strict=True)):
        middle = max(y + size * scale / 2, free + LINE / 2)
        free = middle + LINE / 2
        words = [word for word, _ in topic["words"]]
        nodes.append(
            Node(
                y=pixels(y),
                height=pixels(max(1.0, size * scale)),
                label_y=pixels(middle),
                label=", ".join(words[:LABEL_WORDS]),
                short=", ".join(words[:SHORT_WORDS]),
                hue=number % HUES,
                words=f"{number + 1}: {', '.join(words)} ({size} pairs)",
            )
        )
    return tuple(nodes)


def _ribbons(
    result: Mapping[str, Any], starts: Sequence[float], ends: Sequence[float], scale: float
) -> tuple[tuple[Ribbon, ...], int]:
    counts: list[list[int]] = result["flow"]
    cells = sorted(
        ((count, i, j) for i, row in enumerate(counts) for j, count in enumerate(row) if count), reverse=True
    )
    drawn = {(i, j) for _, i, j in cells[:MOST_RIBBONS]}
    left, right, ribbons = list(starts), list(ends), []
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            wide = count * scale
            if (i, j) in drawn:
                chance = result["times_chance"][i][j]
                words = f"{i + 1} to {j + 1}: {count} pairs, {chance:.1f} times chance"
                ribbons.append(Ribbon(_band(left[i], right[j], wide), i % HUES, words))
            left[i] += wide
            right[j] += wide
    return tuple(ribbons), sum(count for count, _, _ in cells[MOST_RIBBONS:])


def _band(start: float, end: float, wide: float) -> str:
    """Return a band of a given width between two sides, in a box 100 wide."""
    return (
        f"M0 {start:.1f}C50 {start:.1f} 50 {end:.1f} 100 {end:.1f}"
        f"V{end + wide:.1f}C50 {end + wide:.1f} 50 {start + wide:.1f} 0 {start + wide:.1f}Z"
    )


@dataclass(frozen=True, slots=True)
class Heat:
    """A cell of the flow as a table: pairs, how many times chance, and a step of shade by its share of the row."""

    count: int
    chance: float
    step: int


def heat(result: Mapping[str, Any]) -> list[list[Heat]]:
    """Return the flow's cells, rows by clue topic."""
    table = []
    for counts, chances in zip(result["flow"], result["times_chance"], strict=True):
        whole = max(1, sum(counts))
        table.append(
            [
                Heat(count, chance, min(HEAT_STEPS, round(HEAT_STEPS * count / whole + 0.49) if count else 0))
                for count, chance in zip(counts, chances, strict=True)
            ]
        )
    return table


def share(part: float, whole: float) -> str:
    """Return the width of a bar."""
    return percent(100 * min(1.0, part / whole)) if whole else "0%"
