"""Pay per hour as a small line chart: plain coordinates, drawn by a template."""

from collections.abc import Sequence
from dataclasses import dataclass

LEFT, RIGHT, TOP, BOTTOM = 30.0, 488.0, 14.0, 164.0
LABEL_GAP = 15.0
MAX_TICKS = 8
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


def pay_chart(points: Sequence[Point], *, target: int, by: str) -> Chart | None:
    """Return the chart of at least two points, from a zero base; ``by`` names the axis for the summary."""
    if len(points) < 2:  # noqa: PLR2004 - a line needs two ends
        return None
    top = _top([p.median for p in points] + [p.mean or 0 for p in points] + [target])

    def y(cents: int) -> float:
        return BOTTOM - (BOTTOM - TOP) * cents / (top * 100)

    xs = [LEFT + (RIGHT - LEFT) * i / (len(points) - 1) for i in range(len(points))]
    means = [(x, y(p.mean)) for x, p in zip(xs, points, strict=True) if p.mean is not None]
    medians = [(x, y(p.median)) for x, p in zip(xs, points, strict=True)]
    last = points[-1]
    word = "Median" if last.mean is not None else "Latest"
    ends = [
        (y(last.median), f"{word} ${last.median / 100:.2f}", True),
        (y(target), f"Target ${target / 100:.2f}", False),
    ]
    if last.mean is not None:
        ends.append((y(last.mean), f"Mean ${last.mean / 100:.2f}", False))
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
    )


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


def _n(value: float) -> str:
    return f"{value:.1f}"
