"""What a reward makes per hour, said at the field where it is typed."""

from dataclasses import dataclass
from typing import Any

from django import forms

from hits.domain.money.pay import HOUR
from hits.domain.money.pay_forecast import Forecast
from hits.domain.money.usd import format_dollars
from hits.kind import HitKind
from hits.models import Project
from hits.selectors.money.pay_forecast import forecast_for

STEP_CENTS = 5  # a default is rounded up to a sum that people would type


@dataclass(frozen=True, slots=True)
class HourlyRate:
    """What the reward field says. Times in seconds, money in cents.

    seconds: the median measured time, or the kind's usual time where too few submissions were measured.
    """

    seconds: float
    target_cents: int
    reward_cents: int
    is_measured: bool

    @property
    def target(self) -> str:
        """The project's target per hour in dollars."""
        return format_dollars(self.target_cents)

    @property
    def rate(self) -> str:
        """What ``reward_cents`` makes per hour in dollars."""
        return format_dollars(round(self.reward_cents * HOUR / self.seconds))


def offer_fair_reward(form: forms.Form, *, project: Project, kind: HitKind) -> None:
    """Start a launch form at a reward that reaches the project's target, and show per hour what is typed.

    Only the kind's own default changes: a reward that was typed, or asked for by the address, stays.
    """
    found = forecast_for(
        project=project, kind=kind, reward_cents=kind.reward_cents, bonus_cents=0, opinions=1, units=1
    )
    reward = fair_reward(kind, found)
    if form.initial.get("reward") == kind.reward_cents:
        form.initial["reward"] = reward
    field: Any = form.fields["reward"]
    field.hourly = HourlyRate(  # _field.html shows it
        found.median_seconds, project.target_cents_per_hour, reward, found.is_measured
    )


def fair_reward(kind: HitKind, found: Forecast) -> int:
    """Return the kind's own reward in cents, or the lowest step at which half of the work reaches the target."""
    return max(kind.reward_cents, -(-found.reach // STEP_CENTS) * STEP_CENTS)
