"""What a batch will pay per hour, told from work of the same kind that was measured before."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil
from statistics import fmean

from hits.domain.money.pay import HOUR, is_under
from hits.domain.quantiles import median_ranks, quantile, reaching

FEWEST = 5  # below this the kind's own usual time is the better guess
MOST_OF_THEM = 0.75


class Basis(StrEnum):
    """Where the time comes from."""

    MEASURED = "measured"
    USUAL = "usual"


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured submission: active seconds, and the extra items that earn a bonus each."""

    active_seconds: float
    bonus_items: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be launched. Money in cents."""

    reward_cents: int
    bonus_cents: int
    assignments: int
    target_cents_per_hour: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """What to expect of a plan. Rates in cents an hour, times in seconds.

    ``reach`` and ``reach_most`` are the rewards at which half and three quarters of the work reach the target;
    ``under`` of the ``n`` measured submissions would stay under it at the planned reward.
    """

    basis: Basis
    n: int
    batches: int
    median_seconds: float
    interval: tuple[float, float] | None
    rate_cents: int
    under: int
    reach: int
    reach_most: int
    seconds: float
    plan: Plan

    @property
    def is_measured(self) -> bool:
        """True when it rests on measured work."""
        return self.basis is Basis.MEASURED

    @property
    def under_cents(self) -> int:
        """How far the median rate lies under the target, or 0."""
        return max(0, self.plan.target_cents_per_hour - self.rate_cents)

    @property
    def reaches(self) -> bool:
        """True when at least half of the work reaches the target."""
        return self.plan.reward_cents >= self.reach

    @property
    def hours(self) -> float:
        """Active hours of the whole plan."""
        return self.seconds / HOUR


def forecast(*, samples: Sequence[Sample], batches: int, usual_seconds: int, plan: Plan) -> Forecast:
    """Return the forecast from ``samples`` of as many ``batches``; from the usual time when there are too few."""
    timed = [row for row in samples if row.active_seconds > 0]
    if len(timed) < FEWEST:
        return _from_usual(len(timed), batches, usual_seconds, plan)
    times = sorted(row.active_seconds for row in timed)
    ranks = median_ranks(len(times))
    pays = [(plan.reward_cents + plan.bonus_cents * row.bonus_items, row.active_seconds) for row in timed]
    needed = sorted(_needed(row, plan) for row in timed)
    return Forecast(
        basis=Basis.MEASURED,
        n=len(timed),
        batches=batches,
        median_seconds=quantile(times, 0.5),
        interval=(times[ranks[0] - 1], times[ranks[1] - 1]) if ranks else None,
        rate_cents=round(quantile(sorted(cents * HOUR / seconds for cents, seconds in pays), 0.5)),
        under=sum(is_under(cents, seconds, plan.target_cents_per_hour) for cents, seconds in pays),
        reach=reaching(needed, 0.5),
        reach_most=reaching(needed, MOST_OF_THEM),
        seconds=fmean(times) * plan.assignments,
        plan=plan,
    )


def _from_usual(n: int, batches: int, usual_seconds: int, plan: Plan) -> Forecast:
    """Suppose that everybody takes the kind's usual time, and that nobody earns a bonus."""
    fair = _needed(Sample(usual_seconds), plan)
    return Forecast(
        basis=Basis.USUAL,
        n=n,
        batches=batches,
        median_seconds=usual_seconds,
        interval=None,
        rate_cents=round(plan.reward_cents * HOUR / usual_seconds),
        under=0,
        reach=fair,
        reach_most=fair,
        seconds=float(usual_seconds) * plan.assignments,
        plan=plan,
    )


def _needed(row: Sample, plan: Plan) -> int:
    """Return the reward, at least a cent, at which this piece of work reaches the target."""
    wanted = Fraction(row.active_seconds) * plan.target_cents_per_hour / HOUR
    return max(1, ceil(wanted) - plan.bonus_cents * row.bonus_items)
