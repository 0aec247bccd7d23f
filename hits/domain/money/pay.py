"""What work pays per hour, and what deciding on it costs. Integer cents, active seconds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from hits.domain.money.fees import FeeSchedule
from hits.domain.quantiles import median_ranks, quantile

HOUR = 3600


@dataclass(frozen=True, slots=True)
class Payout:
    """What approving one submission pays out, in cents."""

    reward_cents: int
    bonus_items: int
    bonus_cents: int
    fee_cents: int

    @property
    def total_cents(self) -> int:
        """Everything that leaves."""
        return self.reward_cents + self.bonus_cents + self.fee_cents


def payout(
    *, reward_cents: int, bonus_each_cents: int, items: int, max_assignments: int, fees: FeeSchedule
) -> Payout:
    """Return what approving pays out; reward and bonus are two payments, each with its own fee."""
    bonus = bonus_each_cents * items
    fee = fees.fee_cents(reward_cents, max_assignments)
    fee += fees.bonus_fee_cents(bonus) if bonus else 0
    return Payout(reward_cents, items, bonus, fee)


def cents_per_hour(cents: int, active_seconds: float) -> int | None:
    """Return the hourly rate of one piece of work; ``None`` when no time was measured."""
    return round(cents * HOUR / active_seconds) if active_seconds > 0 else None


def median_cents(rates: Sequence[int]) -> int | None:
    """Return the median in whole cents, or ``None`` of nothing."""
    return round(median(rates)) if rates else None


def mean_cents(rates: Sequence[int]) -> int | None:
    """Return the mean in whole cents, or ``None`` of nothing."""
    return round(fmean(rates)) if rates else None


def is_under(cents: int, active_seconds: float, target_cents_per_hour: int) -> bool:
    """Tell whether work paid less than the target, to the last fraction of a cent."""
    return cents * HOUR < target_cents_per_hour * active_seconds


def gap_cents(cents: int, active_seconds: float, target_cents_per_hour: int) -> int:
    """Return the whole cents that lift work to the target, rounded up so that it does not stay under; else 0."""
    over, under = active_seconds.as_integer_ratio()  # whole numbers: no part of a cent is lost
    return max(0, -(-over * target_cents_per_hour // (under * HOUR)) - cents)


@dataclass(frozen=True, slots=True)
class TopUp:
    """What would lift every submission below the target up to it."""

    cents: int
    submissions: int


def top_up(work: Iterable[tuple[int, float]], target_cents_per_hour: int) -> TopUp:
    """Return the sum that lifts each ``(cents, active seconds)`` to the target hourly rate."""
    gaps = [gap_cents(cents, seconds, target_cents_per_hour) for cents, seconds in work]
    short = [gap for gap in gaps if gap]
    return TopUp(sum(short), len(short))


@dataclass(frozen=True, slots=True)
class Spread:
    """How the hourly rates of some submissions are spread. Cents an hour; ``seconds`` of active time in all.

    ``interval`` holds the median with 95 % confidence, as though the submissions were independent of one another;
    ``None`` of fewer than six.
    """

    n: int
    median: int
    interval: tuple[int, int] | None
    lower: int
    upper: int
    mean: int
    under: int
    target: int
    cents: int
    seconds: float

    @property
    def short(self) -> int:
        """How far the median lies under the target, or 0."""
        return max(0, self.target - self.median)

    @property
    def reached(self) -> int:
        """How many submissions reach the target."""
        return self.n - self.under

    @property
    def under_percent(self) -> int:
        """The share of submissions under the target, in percent."""
        return round(100 * self.under / self.n)

    @property
    def overall(self) -> int:
        """What one hour of all the work together paid."""
        return round(self.cents * HOUR / self.seconds)


def spread(work: Sequence[tuple[int, float]], target_cents_per_hour: int) -> Spread | None:
    """Return how the rates of ``(cents, active seconds)`` are spread; ``None`` when none has a time."""
    timed = [(cents, seconds) for cents, seconds in work if seconds > 0]
    if not timed:
        return None
    rates = sorted(round(cents * HOUR / seconds) for cents, seconds in timed)
    ranks = median_ranks(len(rates))
    return Spread(
        n=len(rates),
        median=round(quantile(rates, 0.5)),
        interval=(rates[ranks[0] - 1], rates[ranks[1] - 1]) if ranks else None,
        lower=round(quantile(rates, 0.25)),
        upper=round(quantile(rates, 0.75)),
        mean=round(fmean(rates)),
        under=sum(is_under(cents, seconds, target_cents_per_hour) for cents, seconds in timed),
        target=target_cents_per_hour,
        cents=sum(cents for cents, _ in timed),
        seconds=sum(seconds for _, seconds in timed),
    )
