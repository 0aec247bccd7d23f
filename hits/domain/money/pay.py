"""Hourly pay of work, and the cost of approving it. Integer cents, active seconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from hits.domain.money.fees import FeeSchedule
from hits.domain.quantiles import median_interval_ranks, quantile

HOUR_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class ApprovalCost:
    """The cost of approving one submission, in cents."""

    reward_cents: int
    bonus_items: int
    bonus_cents: int
    fee_cents: int

    @property
    def total_cents(self) -> int:
        """Reward, bonus and fees together."""
        return self.reward_cents + self.bonus_cents + self.fee_cents


def approval_cost(
    *, reward_cents: int, bonus_each_cents: int, bonus_items: int, max_assignments: int, fees: FeeSchedule
) -> ApprovalCost:
    """Return the cost of an approval; reward and bonus are two payments, each with its own fee."""
    bonus = bonus_each_cents * bonus_items
    fee = fees.fee_cents(reward_cents, max_assignments)
    fee += fees.bonus_fee_cents(bonus) if bonus else 0
    return ApprovalCost(reward_cents, bonus_items, bonus, fee)


def cents_per_hour(cents: int, active_seconds: float) -> int | None:
    """Return the hourly rate of one submission; ``None`` without a measured time."""
    return round(cents * HOUR_SECONDS / active_seconds) if active_seconds > 0 else None


def median_cents(rates: Sequence[int]) -> int | None:
    """Return the median in whole cents, or ``None`` without rates."""
    return round(median(rates)) if rates else None


def mean_cents(rates: Sequence[int]) -> int | None:
    """Return the mean in whole cents, or ``None`` without rates."""
    return round(fmean(rates)) if rates else None


def is_under_target(cents: int, active_seconds: float, target_cents_per_hour: int) -> bool:
    """Return whether work paid less than the target, exact to fractions of a cent."""
    return cents * HOUR_SECONDS < target_cents_per_hour * active_seconds


def gap_cents(cents: int, active_seconds: float, target_cents_per_hour: int) -> int:
    """Return the whole cents, rounded up, that raise work to the target; 0 if it reaches the target."""
    numerator, denominator = active_seconds.as_integer_ratio()  # exact, so that no fraction of a cent is lost
    return max(0, -(-numerator * target_cents_per_hour // (denominator * HOUR_SECONDS)) - cents)


@dataclass(frozen=True, slots=True)
class TopUpTotal:
    """The sum that raises the pay of all submissions below the target to the target."""

    cents: int
    submission_count: int


@dataclass(frozen=True, slots=True)
class RateSpread:
    """The distribution of the hourly rates of some submissions. Cents per hour; ``seconds`` is the total active time.

    ``interval`` contains the median with 95 % confidence if the submissions are independent; ``None`` below six.
    """

    n: int
    median: int
    interval: tuple[int, int] | None
    lower_quartile: int
    upper_quartile: int
    mean: int
    under_count: int
    target: int
    cents: int
    seconds: float

    @property
    def shortfall_cents(self) -> int:
        """How far the median is below the target, or 0."""
        return max(0, self.target - self.median)

    @property
    def target_reached_count(self) -> int:
        """How many submissions reach the target."""
        return self.n - self.under_count

    @property
    def under_target_percent(self) -> int:
        """The share of submissions below the target, in percent."""
        return round(100 * self.under_count / self.n)

    @property
    def overall_cents_per_hour(self) -> int:
        """The hourly rate of all the work together."""
        return round(self.cents * HOUR_SECONDS / self.seconds)


def rate_spread(work: Sequence[tuple[int, float]], target_cents_per_hour: int) -> RateSpread | None:
    """Return the distribution of the rates of ``(cents, active seconds)``; ``None`` without a measured time."""
    timed = [(cents, seconds) for cents, seconds in work if seconds > 0]
    if not timed:
        return None
    rates = sorted(round(cents * HOUR_SECONDS / seconds) for cents, seconds in timed)
    ranks = median_interval_ranks(len(rates))
    return RateSpread(
        n=len(rates),
        median=round(quantile(rates, 0.5)),
        interval=(rates[ranks[0] - 1], rates[ranks[1] - 1]) if ranks else None,
        lower_quartile=round(quantile(rates, 0.25)),
        upper_quartile=round(quantile(rates, 0.75)),
        mean=round(fmean(rates)),
        under_count=sum(is_under_target(cents, seconds, target_cents_per_hour) for cents, seconds in timed),
        target=target_cents_per_hour,
        cents=sum(cents for cents, _ in timed),
        seconds=sum(seconds for _, seconds in timed),
    )
