"""Forecast the hourly pay of a batch from measured work of the same kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil
from statistics import fmean

from hits.domain.money.pay import HOUR_SECONDS, is_under_target
from hits.domain.quantiles import lower_quantile, median_interval_ranks, quantile

MIN_SAMPLES = 5  # below this the kind's expected time is the better estimate
THREE_QUARTERS = 0.75


class ForecastBasis(StrEnum):
    """The source of the time."""

    MEASURED = "measured"
    EXPECTED = "usual"


@dataclass(frozen=True, slots=True)
class PaySample:
    """One measured submission: active seconds, and the number of items that earned a bonus."""

    active_seconds: float
    bonus_items: int = 0


@dataclass(frozen=True, slots=True)
class PayPlan:
    """The planned launch. Money in cents."""

    reward_cents: int
    bonus_cents: int
    assignments: int
    target_cents_per_hour: int


@dataclass(frozen=True, slots=True)
class PayForecast:
    """The forecast of a plan. Rates in cents per hour, times in seconds.

    ``reward_for_half`` and ``reward_for_three_quarters`` are the rewards at which that share of the work reaches the
    target. ``under_count`` of the ``n`` measured submissions would stay below it at the planned reward.
    """

    basis: ForecastBasis
    n: int
    batches: int
    median_seconds: float
    interval: tuple[float, float] | None
    rate_cents: int
    under_count: int
    reward_for_half: int
    reward_for_three_quarters: int
    seconds: float
    plan: PayPlan

    @property
    def is_measured(self) -> bool:
        """True when it is based on measured work."""
        return self.basis is ForecastBasis.MEASURED

    @property
    def shortfall_cents(self) -> int:
        """How far the median rate is below the target, or 0."""
        return max(0, self.plan.target_cents_per_hour - self.rate_cents)

    @property
    def hours(self) -> float:
        """The active hours of the whole plan."""
        return self.seconds / HOUR_SECONDS


def forecast_pay(
    *, samples: Sequence[PaySample], batches: int, expected_seconds: int, plan: PayPlan
) -> PayForecast:
    """Return the forecast from ``samples`` of ``batches``, or from the expected time if there are too few."""
    timed = [row for row in samples if row.active_seconds > 0]
    if len(timed) < MIN_SAMPLES:
        return _forecast_from_expected(len(timed), batches, expected_seconds, plan)
    times = sorted(row.active_seconds for row in timed)
    ranks = median_interval_ranks(len(times))
    pays = [(plan.reward_cents + plan.bonus_cents * row.bonus_items, row.active_seconds) for row in timed]
    needed = sorted(_required_reward(row, plan) for row in timed)
    return PayForecast(
        basis=ForecastBasis.MEASURED,
        n=len(timed),
        batches=batches,
        median_seconds=quantile(times, 0.5),
        interval=(times[ranks[0] - 1], times[ranks[1] - 1]) if ranks else None,
        rate_cents=round(quantile(sorted(cents * HOUR_SECONDS / seconds for cents, seconds in pays), 0.5)),
        under_count=sum(
            is_under_target(cents, seconds, plan.target_cents_per_hour) for cents, seconds in pays
        ),
        reward_for_half=lower_quantile(needed, 0.5),
        reward_for_three_quarters=lower_quantile(needed, THREE_QUARTERS),
        seconds=fmean(times) * plan.assignments,
        plan=plan,
    )


def _forecast_from_expected(n: int, batches: int, expected_seconds: int, plan: PayPlan) -> PayForecast:
    """Assume that everybody takes the kind's expected time and that nobody earns a bonus."""
    required = _required_reward(PaySample(expected_seconds), plan)
    return PayForecast(
        basis=ForecastBasis.EXPECTED,
        n=n,
        batches=batches,
        median_seconds=expected_seconds,
        interval=None,
        rate_cents=round(plan.reward_cents * HOUR_SECONDS / expected_seconds),
        under_count=0,
        reward_for_half=required,
        reward_for_three_quarters=required,
        seconds=float(expected_seconds) * plan.assignments,
        plan=plan,
    )


def _required_reward(row: PaySample, plan: PayPlan) -> int:
    """Return the reward, at least a cent, at which this submission reaches the target."""
    required = Fraction(row.active_seconds) * plan.target_cents_per_hour / HOUR_SECONDS
    return max(1, ceil(required) - plan.bonus_cents * row.bonus_items)
