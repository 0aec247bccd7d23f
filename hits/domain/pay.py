"""What work pays per hour, and what deciding on it costs. Integer cents, active seconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from hits.domain.money import FeeSchedule

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


@dataclass(frozen=True, slots=True)
class TopUp:
    """What would lift every submission below the target up to it."""

    cents: int
    submissions: int


def top_up(work: Sequence[tuple[int, float]], target_cents_per_hour: int) -> TopUp:
    """Return the sum that lifts each ``(cents, active seconds)`` to the target hourly rate."""
    gaps = [round(target_cents_per_hour * seconds / HOUR) - cents for cents, seconds in work]
    short = [gap for gap in gaps if gap > 0]
    return TopUp(sum(short), len(short))
