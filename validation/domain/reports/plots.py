"""Where the marks of a report's plots lie: plain places in percent, drawn by templates as SVG.

Across, every place is a percentage of the drawing's width, so that a drawing is as wide as its place on the page
while its letters keep their size. Downwards it is pixels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any

from hits.domain.quantiles import quantile

HEIGHT, TOP = 120, 18  # pixels of a histogram's bars, and above them for what the marks say
LABEL_GAP = 15.0  # pixels between two labels
LABEL_FITS = 7.0  # percent of the width that a count needs inside its part of a bar
SHADES = 4
HEAT_STEPS = 9
BINS = 20
# Landis and Koch (1977), doi:10.2307/2529310; upper ends of their bands.
_BANDS = (
    (0.0, "poor"),
    (0.2, "slight"),
    (0.4, "fair"),
    (0.6, "moderate"),
    (0.8, "substantial"),
    (1.0, "almost perfect"),
)
# Krippendorff, K. (2004). Reliability in content analysis. doi:10.1111/j.1468-2958.2004.tb00738.x
RELIABLE, TENTATIVE = 0.8, 0.667
LOWEST = -0.2


@dataclass(frozen=True, slots=True)
class Part:
    """One label's part of a bar. ``shade`` is 1 for the lowest label to 4 for the highest."""

    x: str
    width: str
    middle: str
    words: str
    count: int
    percent: float
    shade: int
    fits: bool


@dataclass(frozen=True, slots=True)
class Dot:
    """A coefficient: its place, the ends of its interval (``None`` without one), and in words."""

    at: str
    low: str | None
    width: str | None
    band: str
    summary: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across a plot and what it says."""

    x: str
    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair of labels in a heat table. ``heat`` 0 to 9; ``percent`` of all pairs; ``item`` an example, if any."""

    first: str
    second: str
    percent: float
    heat: int
    alike: bool
    item: str


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of a histogram; ``words`` says from what to what."""

    x: str
    width: str
    y: str
    height: str
    count: int
    words: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A named value on a histogram: at which height its words stand, and whether left of the line."""

    x: str
    text: str
    y: int
    on_the_left: bool
    dashed: bool


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bars, the marks on them and the axis' ends."""

    bins: Sequence[Bin]
    marks: Sequence[Mark]
    ticks: Sequence[Tick]
    most: int


def decimals(number: float, places: int) -> str:
    """Return a number with so many decimals and a real minus sign: ``−0.12`` for -0.1234 and 2."""
    return f"{number:.{places}f}".replace("-", "−")


def percent(value: float) -> str:
    """Return a place across as SVG writes it, from 0 to 100."""
    return f"{value:.2f}%"


def pixels(value: float) -> str:
    """Return a place as SVG writes it, in pixels or units of the view."""
    return f"{value:.1f}"


def apart(places: Sequence[float], *, top: float, bottom: float) -> list[float]:
    """Move labels down or up, so that none lies on another; in the order given."""
    placed: dict[int, float] = {}
    free = top
    for index in sorted(range(len(places)), key=lambda index: places[index]):
        placed[index] = max(places[index], free)
        free = placed[index] + LABEL_GAP
    too_low = max(0.0, free - LABEL_GAP - bottom)
    return [placed[index] - too_low for index in range(len(places))]


def stacked(labels: Sequence[tuple[str, int]]) -> list[Part]:
    """Return the parts of one bar for labels from low to high with their counts; none without any."""
    total = sum(count for _, count in labels)
    parts: list[Part] = []
    at = 0.0
    for number, (words, count) in enumerate(labels):
        width = 100 * count / total if total else 0.0
        shade = 1 + round(number * (SHADES - 1) / max(1, len(labels) - 1))
        parts.append(
            Part(
                percent(at),
                percent(width),
                percent(at + width / 2),
                words,
                count,
                width,
                shade,
                width >= LABEL_FITS,
            )
        )
        at += width
    return parts if total else []


def outcomes(accept: int, undecided: int, reject: int) -> list[dict[str, str]]:
    """Return one bar's parts in this order, as ``outcome``, ``x`` and ``width``; none where nothing was decided."""
    counts = {"accept": accept, "undecided": undecided, "reject": reject}
    whole, before, parts = sum(counts.values()), 0, []
    for outcome, count in counts.items():
        if count:
            parts.append(
                {
                    "outcome": outcome,
                    "x": percent(100 * before / whole),
                    "width": percent(100 * count / whole),
                }
            )
        before += count
    return parts


def dot(value: float | None, low: float | None, high: float | None) -> Dot | None:
    """Return a coefficient's place on an axis from −0.2 to 1; ``None`` where there is no value.

    What lies below the axis is drawn at its end; the figures beside the plot say where it lies.
    """
    if value is None or not isfinite(value):
        return None
    band = next(word for end, word in _BANDS if value <= end or end == 1.0)
    if low is None or high is None:
        return Dot(percent(_across(value)), None, None, band, f"{value:.3f}, no interval")
    left, right = _across(low), _across(high)
    summary = f"{value:.3f}, 95 % interval {low:.3f} to {high:.3f}"
    return Dot(percent(_across(value)), percent(left), percent(right - left), band, summary)


def axis() -> list[Tick]:
    """Return the lines of the coefficients' axis."""
    return [
        Tick(percent(_across(0)), "0"),
        Tick(percent(_across(0.4)), "0.4"),
        Tick(percent(_across(TENTATIVE)), ".667", strong=True),
        Tick(percent(_across(RELIABLE)), ".800", strong=True),
        Tick(percent(_across(1)), "1"),
    ]


def _across(value: float) -> float:
    return 100 * (min(1.0, max(LOWEST, value)) - LOWEST) / (1 - LOWEST)


def heat(
    confusion: Sequence[Sequence[float]], words: Sequence[str], examples: Mapping[str, str]
) -> list[tuple[str, list[Cell]]]:
    """Return a heat table of pairs of labels that two people gave to the same item.

    Args:
        confusion: (L, L) coincidences, symmetric. words: the L labels. examples: ``"row,column"`` (row ≤ column) to
            an item which was labelled so.
    """
    total = sum(sum(row) for row in confusion)
    most = max((value for row in confusion for value in row), default=0)
    rows = []
    for i, line in enumerate(confusion):
        cells = []
        for j, value in enumerate(line):
            step = -(-int(1000 * value / most) * HEAT_STEPS // 1000) if most else 0
            item = examples.get(f"{min(i, j)},{max(i, j)}", "")
            share = 100 * value / total if total else 0.0
            cells.append(Cell(words[i], words[j], share, min(HEAT_STEPS, step), i == j, item))
        rows.append((words[i], cells))
    return rows


def counted(values: Sequence[float], *, end: float | None = None) -> dict[str, Any]:
    """Return how many of ``values`` (sorted, at least 0) lie in each of 20 equal bins, as plain data.

    Args:
        end: where the last bin begins to hold all that is above it; by default a round number that 19 of 20 values
            reach at most, so that a few very long ones do not flatten the rest.
    """
    if not values:
        return {"width": 0.0, "counts": [], "over": 0}
    upto = end if end is not None else max(quantile(list(values), 0.95), 1e-9)
    width = round_up(upto / (BINS - 1))
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int(value / width))] += 1
    return {"width": width, "counts": counts, "over": sum(value >= BINS * width for value in values)}


def round_up(step: float, *, factors: Sequence[float] = (1, 2, 2.5, 5)) -> float:
    """Return the next round number from ``step`` (above 0) on: one of ``factors`` times a power of ten."""
    size = 10.0 ** floor(log10(step))
    return next(size * factor for factor in (*factors, 10) if size * factor >= step * (1 - 1e-9))


def histogram(
    binned: Mapping[str, Any], *, marks: Sequence[tuple[float | None, str, bool]], unit: str
) -> Histogram | None:
    """Return the bars of ``counted``'s bins, and lines at the marks; ``None`` of nothing.

    Args:
        marks: value, words and whether dashed; a value beyond the axis stands at its end. unit: as in ``"30 s"``.
    """
    counts: Sequence[int] = binned.get("counts", [])
    if not counts:
        return None
    width, most, each = float(binned["width"]), max(counts), 100 / len(counts)
    bins = [
        Bin(
            x=percent(each * i + each * 0.06),
            width=percent(each * 0.88),
            y=pixels(TOP + HEIGHT * (1 - count / most)),
            height=pixels(HEIGHT * count / most),
            count=count,
            words=_range(i, width, unit, last=i == len(counts) - 1),
        )
        for i, count in enumerate(counts)
        if count
    ]
    end = width * len(counts)
    placed = []
    known = sorted((value, words, dashed) for value, words, dashed in marks if value is not None)
    for number, (value, words, dashed) in enumerate(known):
        x = 100 * min(value, end) / end
        placed.append(Mark(percent(x), words, 12 + 15 * number, x > 60, dashed))  # noqa: PLR2004 - percent
    ticks = [Tick(percent(25.0 * i), f"{end * i / 4:g}{'+' if i == 4 else ''}") for i in range(5)]  # noqa: PLR2004
    return Histogram(bins, placed, ticks, most)


def _range(i: int, width: float, unit: str, *, last: bool) -> str:
    if last:
        return f"{i * width:g} {unit} or more"
    return f"{i * width:g} to {(i + 1) * width:g} {unit}"
