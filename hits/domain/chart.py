"""Pay per hour as a small line chart: plain coordinates, drawn by a template."""

from collections.abc import Sequence
from dataclasses import dataclass

from hits.domain.money.pay import Spread
from hits.domain.quantiles import reaching

LEFT, RIGHT, TOP, BOTTOM = 30.0, 488.0, 14.0, 164.0
LABEL_GAP = 15.0
MAX_TICKS = 8
FIGURE_WIDTH = 54.0  # of a sum such as $12,345
_STEPS = (1, 2, 3, 5, 6, 10, 15, 20, 25, 50, 100, 200, 500)


@dataclass(frozen=True, slots=True)
class Point:
    """One place on the time axis; amounts in cents per hour."""

    label: str
    median: int
    mean: int | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """Words at a place, in the chart's own units."""

    x: str
    y: str
    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Beyond:
    """An arrow at the upper end for a point beyond the axis, and its figure beside it where there is room."""

    x: str
    text: str
    text_x: str
    on_the_left: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that the template draws. Coordinates are strings in a view of 600 × 190."""

    grid: Sequence[Label]
    ticks: Sequence[Label]
    target_y: str
    median: str
    mean: str
    dots: Sequence[tuple[str, str]]
    ends: Sequence[Label]
    summary: str
    beyond: Sequence[Beyond] = ()


def pay_chart(points: Sequence[Point], *, target: int, by: str) -> Chart | None:
    """Return the chart of at least two points, from a zero base; ``by`` names the axis for the summary.

    A point far beyond the others is drawn at the upper end and named, so that it does not flatten the rest.
    """
    if len(points) < 2:  # noqa: PLR2004 - a line needs two ends
        return None
    most = _end_of_axis([p.median for p in points], target)
    drawn = [cents for p in points for cents in (p.median, p.mean or 0) if cents <= most]
    top = _top([*drawn, target])

    def y(cents: int) -> float:
        return BOTTOM - (BOTTOM - TOP) * min(cents, top * 100) / (top * 100)

    xs = [LEFT + (RIGHT - LEFT) * i / (len(points) - 1) for i in range(len(points))]
    means = [(x, y(p.mean)) for x, p in zip(xs, points, strict=True) if p.mean is not None]
    medians = [(x, y(p.median)) for x, p in zip(xs, points, strict=True)]
    last = points[-1]
    word = "Median" if last.mean is not None else "Latest"
    ends = [
        (y(last.median), f"{word} {_dollars(last.median)}", True),
        (y(target), f"Target ${target / 100:.2f}", False),
    ]
    if last.mean is not None:
        ends.append((y(last.mean), f"Mean {_dollars(last.mean)}", False))
    return Chart(
        grid=[Label("22", _n(y(v * 100)), str(v)) for v in range(0, top + 1, top // 4)],
        ticks=_ticks(xs, points),
        target_y=_n(y(target)),
        median=" ".join(f"{_n(x)},{_n(v)}" for x, v in medians),
        mean=" ".join(f"{_n(x)},{_n(v)}" for x, v in means),
        dots=[(_n(x), _n(v)) for x, v in medians] if len(points) <= 4 * MAX_TICKS else [],
        ends=_spread(ends),
        summary=(
            f"Pay per hour by {by}, {points[0].label} to {last.label}: from ${points[0].median / 100:.2f} "
            f"to ${last.median / 100:.2f}. Target ${target / 100:.2f}."
        ),
        beyond=_beyond(xs, points, top * 100),
    )


def _end_of_axis(medians: Sequence[int], target: int) -> int:
    """Return how far an axis may reach in cents: four times the target, and twice what half of the medians reach."""
    return max(4 * target, 2 * reaching(sorted(medians), 0.5))


def _beyond(xs: Sequence[float], points: Sequence[Point], top: int) -> list[Beyond]:
    found, free_from = [], LEFT
    for x, point in zip(xs, points, strict=True):
        highest = max(point.median, point.mean or 0)
        if highest <= top:
            continue
        on_the_left = x > RIGHT - FIGURE_WIDTH
        begins = x - FIGURE_WIDTH if on_the_left else x
        has_room = begins >= free_from
        text = f"${highest / 100:,.0f}" if has_room else ""
        found.append(Beyond(_n(x), text, _n(x - 9 if on_the_left else x + 9), on_the_left))
        if has_room:
            free_from = begins + FIGURE_WIDTH
    return found


def _top(cents: Sequence[int]) -> int:
    """Return the upper end of the axis in dollars, a multiple of four steps."""
    dollars = max(cents) / 100
    return 4 * next((step for step in _STEPS if 4 * step >= dollars * 1.02), int(dollars / 4) + 1)


def _ticks(xs: Sequence[float], points: Sequence[Point]) -> list[Label]:
    every = -(-len(points) // MAX_TICKS)
    shown = range(0, len(points), every)
    return [Label(_n(xs[i]), "184", points[i].label) for i in shown]


def _spread(ends: list[tuple[float, str, bool]]) -> list[Label]:
    """Keep the labels at the lines' ends from lying on one another."""
    placed: list[Label] = []
    lowest = -LABEL_GAP
    for y, text, strong in sorted(ends):
        at = max(y, lowest + LABEL_GAP)
        lowest = at
        placed.append(Label("496", _n(at + 4), text, strong))
    return placed


def _dollars(cents: int) -> str:
    """Return a sum for a label; from a thousand dollars on there is no room for its cents."""
    return f"${cents / 100:.2f}" if cents < 100_000 else f"${cents / 100:,.0f}"  # noqa: PLR2004 - cents


def _n(value: float) -> str:
    return f"{value:.1f}"


RANGE_LEFT, RANGE_RIGHT = 6.0, 234.0
RANGE_FIGURES = 44.0  # at the right end, for what lies beyond the axis
HISTOGRAM_BINS = 24
WIDE = 584.0  # a histogram has no labels at its right end


@dataclass(frozen=True, slots=True)
class Range:
    """One row of a range plot in a view of 240 × 20: quartiles as a line, the median as a dot.

    ``beyond`` is the figure of an upper quartile beyond the axis, in dollars.
    """

    low: str
    high: str
    at: str
    beyond: str
    summary: str


@dataclass(frozen=True, slots=True)
class RangePlot:
    """Range plots of several rows on one axis from zero, which is drawn once above them."""

    rows: Sequence[Range]
    ticks: Sequence[Label]
    target_x: str
    end_x: str
    figures_x: str


def range_plot(spreads: Sequence[Spread], *, target: int) -> RangePlot:
    """Return the rows' places on a shared axis; what lies far beyond the others is drawn at its end and named."""
    uppers = [row.upper for row in spreads]
    most = _end_of_axis([row.median for row in spreads], target) if spreads else 0
    top = min(max([*uppers, target * 4 // 3, 1]), max(most, 1))
    end = RANGE_RIGHT - RANGE_FIGURES if any(upper > top for upper in uppers) else RANGE_RIGHT

    def x(cents: int) -> float:
        return RANGE_LEFT + (end - RANGE_LEFT) * min(cents, top) / top

    rows = [
        Range(
            low=_n(x(row.lower)),
            high=_n(x(row.upper)),
            at=_n(x(row.median)),
            beyond=f"{row.upper / 100:,.0f}" if row.upper > top else "",
            summary=(
                f"Half between ${row.lower / 100:.2f} and ${row.upper / 100:.2f} an hour, "
                f"median ${row.median / 100:.2f}, target ${target / 100:.2f}"
            ),
        )
        for row in spreads
    ]
    ticks = [
        Label(_n(x(0)), "10", "0"),
        Label(_n(x(target)), "10", f"target {target / 100:g}", strong=True),
    ]
    if end - x(target) > 3 * LABEL_GAP:
        ticks.append(Label(_n(end), "10", f"{top // 100}"))
    return RangePlot(rows, ticks, _n(x(target)), _n(end), _n(end + 3 + RANGE_FIGURES / 2))


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a histogram, with whether it lies under the target."""

    x: str
    y: str
    width: str
    height: str
    under: bool


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many submissions paid how much an hour, in a view of 600 × 190."""

    bars: Sequence[Bar]
    grid: Sequence[Label]
    ticks: Sequence[Label]
    target_x: str
    target: Label
    summary: str


def pay_histogram(rates: Sequence[int], *, target: int) -> Histogram | None:
    """Return the histogram of hourly rates in cents; a bar ends at the target, so that none is on both sides."""
    if not rates or target <= 0:
        return None
    width = -(-target // (HISTOGRAM_BINS // 3))  # eight bars up to the target, and so many again twice
    counts = [0] * HISTOGRAM_BINS
    for rate in rates:
        # Counted from the target, so that the eighth bar's end is the target itself.
        place = HISTOGRAM_BINS // 3 + (rate - target) // width
        counts[max(0, min(HISTOGRAM_BINS - 1, place))] += 1
    most = 4 * _step(max(counts))
    step = (WIDE - LEFT) / HISTOGRAM_BINS
    bars = [
        Bar(
            x=_n(LEFT + step * i + 1),
            y=_n(BOTTOM - (BOTTOM - TOP) * count / most),
            width=_n(step - 2),
            height=_n((BOTTOM - TOP) * count / most),
            under=i < HISTOGRAM_BINS // 3,
        )
        for i, count in enumerate(counts)
        if count
    ]
    under = sum(rate < target for rate in rates)
    words = ["$0", f"${target / 100:g}", f"${target / 50:g}", f"${target * 3 / 100:g}+"]
    thirds = (WIDE - LEFT) / 3
    target_x = LEFT + thirds
    return Histogram(
        bars=bars,
        grid=[Label("22", _n(BOTTOM - (BOTTOM - TOP) * i / 4), str(most * i // 4)) for i in range(5)],
        ticks=[Label(_n(LEFT + thirds * i), "184", text) for i, text in enumerate(words)],
        target_x=_n(target_x),
        target=Label(_n(target_x + 6), "24", f"Target ${target / 100:.2f}/h"),
        summary=f"{under} of {len(rates)} submissions paid under ${target / 100:.2f} an hour.",
    )


def _step(count: int) -> int:
    """Return a quarter of the count axis: the first round step that four of reach ``count``."""
    return next((step for step in (1, *_STEPS, 1_000, 2_000, 5_000) if 4 * step >= count), -(-count // 4))
