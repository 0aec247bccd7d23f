"""Plan how many items a judging round needs for a target interval width, and the width for other numbers of items.

The interval of a share is Wilson's score interval (Wilson 1927, doi:10.1080/01621459.1927.10502953) with his symbols:
``n`` items, share ``p``, and the normal quantile ``z`` of the confidence level. For a sample without replacement from
``N`` items the variance ``p(1 - p)/n`` shrinks by ``(N - n)/(N - 1)`` (Cochran 1977, Sampling Techniques, section
2.6), which equals a sample of ``n(N - 1)/(N - n)`` items; if all items are judged, nothing is left to estimate.

An item counts once for any number of judges: more judges make an item's verdict more reliable, but do not narrow the
interval of the share over items.
"""

from dataclasses import dataclass
from math import inf, isfinite, sqrt
from statistics import NormalDist

LEVEL = 0.95
MAX_ITEMS = 10_000_000
_STEPS = 60  # of the width curve


class PlanError(ValueError):
    """No number of items meets the target; ``field`` names the target's field, the message how to correct it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class PrecisionTarget:
    """The target precision of a share.

    ``width`` is the full width of the interval and ``rate`` the expected share, both from 0 to 1; ``population`` is
    the number of items to draw from, ``None`` if it is far larger than any sample.
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
class SampleSize:
    """The minimum number of items for the target width; ``is_census`` if that is the whole population."""

    items: int
    interval: Interval
    is_census: bool


def wilson_interval(n: int, rate: float, *, population: int | None = None, level: float = LEVEL) -> Interval:
    """Return Wilson's interval for a share ``rate`` among ``n`` items; the whole range without items.

    ``rate`` times ``n`` need not be whole: before a round, the share is only an expectation.
    """
    if n <= 0:
        return Interval(0.0, 1.0)
    effective = _effective_count(n, population)
    if effective == inf:
        return Interval(rate, rate)
    z = NormalDist().inv_cdf((1 + level) / 2)
    c = z * z / effective
    middle = (rate + c / 2) / (1 + c)
    half_width = z * sqrt(rate * (1 - rate) / effective + c / (4 * effective)) / (1 + c)
    return Interval(max(0.0, middle - half_width), min(1.0, middle + half_width))


def find_sample_size(target: PrecisionTarget) -> SampleSize:
    """Return the minimum number of items whose interval is at most as wide as the target.

    The width falls with each item (its square is ``(4p(1-p)c + c²)/(1 + c)²`` with ``c = z²/n``, which grows with
    ``c``), so bisection finds the exact number.

    Raises:
        PlanError: the target needs more than ten million items.
    """
    max_items = MAX_ITEMS if target.population is None else min(target.population, MAX_ITEMS)
    if _width(max_items, target) > target.width:
        raise PlanError("width", f"Even {max_items:,} items give a wider interval; use a larger width.")
    low, high = 0, max_items  # too wide at low, narrow enough at high
    while high - low > 1:
        middle = (low + high) // 2
        if _width(middle, target) <= target.width:
            high = middle
        else:
            low = middle
    interval = wilson_interval(high, target.rate, population=target.population, level=target.level)
    return SampleSize(high, interval, is_census=high == target.population)


def expected_interval_width(*, pilot_width: float, pilot_items: int, items: int) -> float:
    """Return the expected width of a coefficient's interval over ``items``, from a pilot's bootstrap interval.

    The bootstrap spread of a statistic falls with the square root of the number of items (Efron and Tibshirani 1993,
    An Introduction to the Bootstrap, chapter 6): this is a planning rule, not a bound.

    Raises:
        PlanError: the pilot or the plan has no items.
    """
    if pilot_items < 1 or items < 1:
        raise PlanError("pilot", "Both the pilot and the plan need at least one item.")
    return pilot_width * sqrt(pilot_items / items)


def width_curve(target: PrecisionTarget, sample: SampleSize) -> list[tuple[int, float]]:
    """Return the interval's width in percentage points for about 60 numbers of items around the sample size."""
    last = _max_curve_items(target, sample)
    first = max(1, sample.items // 5)
    counts = sorted({round(first + (last - first) * step / _STEPS) for step in range(_STEPS + 1)})
    return [(n, 100 * _width(n, target)) for n in counts]


def _width(n: int, target: PrecisionTarget) -> float:
    return wilson_interval(n, target.rate, population=target.population, level=target.level).width


def _effective_count(n: int, population: int | None) -> float:
    """Return the sample size from an infinite population that is as informative as ``n`` of ``population``."""
    if population is None:
        return float(n)
    return inf if n >= population else n * (population - 1) / (population - n)


def _max_curve_items(target: PrecisionTarget, sample: SampleSize) -> int:
    last_count = max(sample.items * 5 // 2, sample.items + 4)
    return last_count if target.population is None else max(sample.items, min(last_count, target.population))
