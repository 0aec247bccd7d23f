"""How many items a judging round needs for an interval of a wished width, and what that width is for fewer or more.

The interval of a share is Wilson's score interval (Wilson 1927, doi:10.1080/01621459.1927.10502953): symbols as
there, ``n`` items, share ``p``, ``z`` of the level. For a sample without replacement from ``N`` items the variance
``p(1 - p)/n`` shrinks by ``(N - n)/(N - 1)`` (Cochran 1977, Sampling Techniques, section 2.6), which is the same as
counting ``n(N - 1)/(N - n)`` items; when all are judged nothing is left to estimate.

One item counts once, however many people judged it: more judges make the verdict about an item steadier, and do not
narrow the interval of the share over items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log10, sqrt
from statistics import NormalDist

LEVEL = 0.95
MOST_ITEMS = 10_000_000
LEFT, RIGHT, TOP, BOTTOM = 44.0, 488.0, 14.0, 164.0
_POINTS = 60
_LINES = 4
_TINY = 1e-12


class PlanError(ValueError):
    """A wish that no number of items meets; ``field`` names the part of the wish, the message the mend."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wished for.

    ``width`` is the full width of the interval and ``rate`` the expected share, both from 0 to 1; ``population`` is
    how many items there are to draw from, ``None`` when that is far more than any sample.
    """

    width: float
    rate: float
    population: int | None = None
    level: float = LEVEL

    def __post_init__(self) -> None:
        if not (isfinite(self.width) and 0 < self.width < 1):
            raise PlanError("width", "Use a width above 0 and below 100 points, such as 5.")
        if not (isfinite(self.rate) and 0 <= self.rate <= 1):
            raise PlanError("rate", "Use a share from 0 to 100 percent, such as 90.")
        if self.population is not None and self.population < 1:
            raise PlanError("population", "Use at least 1 item, or leave it empty.")
        if not 0 < self.level < 1:
            raise PlanError("level", "Use a level between 0 and 1, such as 0.95.")


@dataclass(frozen=True, slots=True)
class Interval:
    """A share's interval, its ends from 0 to 1."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The full width, 0 to 1."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Planned:
    """The fewest items whose interval is no wider than wished. ``is_census``: all that there are."""

    items: int
    interval: Interval
    is_census: bool


def score_interval(n: int, rate: float, *, population: int | None = None, level: float = LEVEL) -> Interval:
    """Return Wilson's interval for a share ``rate`` among ``n`` items; the whole range for none.

    A share need not be a whole number of items: before a round it is only expected.
    """
    if n <= 0:
        return Interval(0.0, 1.0)
    counted = _counted(n, population)
    if counted == inf:
        return Interval(rate, rate)
    z = NormalDist().inv_cdf((1 + level) / 2)
    chance = z * z / counted
    middle = (rate + chance / 2) / (1 + chance)
    half = z * sqrt(rate * (1 - rate) / counted + chance / (4 * counted)) / (1 + chance)
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


def items_for(wish: Wish) -> Planned:
    """Return the fewest items whose interval is at most as wide as wished.

    The width falls with every further item (its square is ``(4p(1-p)c + c²)/(1 + c)²`` with ``c = z²/n``, which grows
    with ``c``), so halving the range finds the exact number.

    Raises:
        PlanError: more than ten million items would be needed.
    """
    most = MOST_ITEMS if wish.population is None else min(wish.population, MOST_ITEMS)
    if _width(most, wish) > wish.width:
        raise PlanError("width", f"Even {most:,} items give a wider interval; wish for a wider one.")
    low, high = 0, most  # too wide at low, narrow enough at high
    while high - low > 1:
        middle = (low + high) // 2
        if _width(middle, wish) <= wish.width:
            high = middle
        else:
            low = middle
    interval = score_interval(high, wish.rate, population=wish.population, level=wish.level)
    return Planned(high, interval, is_census=high == wish.population)


def coefficient_width(*, pilot_width: float, pilot_items: int, items: int) -> float:
    """Return how wide a coefficient's interval will be over ``items``, told from a pilot's bootstrap interval.

    The spread of a statistic resampled over items falls with the square root of their number (Efron and Tibshirani
    1993, An Introduction to the Bootstrap, chapter 6): a rule for planning, not a bound.

    Raises:
        PlanError: a pilot or a plan without items.
    """
    if pilot_items < 1 or items < 1:
        raise PlanError("pilot", "Both the pilot and the plan need at least one item.")
    return pilot_width * sqrt(pilot_items / items)


def coefficient_items(*, pilot_width: float, pilot_items: int, width: float) -> int:
    """Return over how many items a coefficient's interval will be ``width`` wide, by the same rule.

    Raises:
        PlanError: a width that is not above 0.
    """
    if width <= 0:
        raise PlanError("width", "Use a width above 0.")
    return max(1, ceil(pilot_items * (pilot_width / width) ** 2))


@dataclass(frozen=True, slots=True)
class Mark:
    """Words at a place along an axis, in the drawing's units."""

    at: str
    words: str


@dataclass(frozen=True, slots=True)
class Curve:
    """Width against items as a template draws it in a view of 504 × 204; ``x`` and ``y`` are the chosen point.

    ``on_the_left`` says on which side of the point its label has room.
    """

    grid: Sequence[Mark]
    ticks: Sequence[Mark]
    line: str
    x: str
    y: str
    label: str
    on_the_left: bool
    summary: str


def curve(wish: Wish, planned: Planned) -> Curve:
    """Return the interval's width in points against the number of items, with the planned number marked."""
    last = _last(wish, planned)
    first = max(1, planned.items // 5)
    counts = sorted({round(first + (last - first) * step / _POINTS) for step in range(_POINTS + 1)})
    widths = [100 * _width(n, wish) for n in counts]
    step = _round_up(max(widths) / _LINES)
    top = step * _LINES

    def x(n: float) -> float:
        return LEFT + (RIGHT - LEFT) * (n - first) / max(1, last - first)

    def y(width: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * width / top

    shown = 100 * planned.interval.width
    return Curve(
        grid=[Mark(_n(y(step * line)), f"{step * line:g}") for line in range(_LINES + 1)],
        ticks=[Mark(_n(x(n)), f"{n:,}") for n in _ticks(first, last)],
        line=" ".join(f"{_n(x(n))},{_n(y(width))}" for n, width in zip(counts, widths, strict=True)),
        x=_n(x(planned.items)),
        y=_n(y(shown)),
        label=f"{planned.items:,} pairs, {shown:.1f} points",
        on_the_left=x(planned.items) > (LEFT + RIGHT) / 2,
        summary=(
            f"Width of the interval by number of pairs: {widths[0]:.1f} points with {counts[0]:,}, "
            f"{shown:.1f} with {planned.items:,}, {widths[-1]:.1f} with {counts[-1]:,}."
        ),
    )


def _width(n: int, wish: Wish) -> float:
    return score_interval(n, wish.rate, population=wish.population, level=wish.level).width


def _counted(n: int, population: int | None) -> float:
    """Return how many items of an endless population tell as much as ``n`` of ``population``."""
    if population is None:
        return float(n)
    return inf if n >= population else n * (population - 1) / (population - n)


def _last(wish: Wish, planned: Planned) -> int:
    wanted = max(planned.items * 5 // 2, planned.items + 4)
    return wanted if wish.population is None else max(planned.items, min(wanted, wish.population))


def _ticks(first: int, last: int) -> list[int]:
    if last <= first:
        return [last]
    step = max(1, int(_round_up((last - first) / _LINES)))
    inside = range(step * ceil(first / step), last + 1, step)
    return list(inside) or [first, last]


def _round_up(value: float) -> float:
    """Return the next 1, 2, 2.5 or 5 times a power of ten."""
    scale = 10.0 ** floor(log10(max(value, _TINY)))
    return next(scale * nice for nice in (1, 2, 2.5, 5, 10) if scale * nice >= value - _TINY)


def _n(value: float) -> str:
    return f"{value:.1f}"
