"""The hourly rate that a form shows beside its reward field."""

from dataclasses import dataclass
from typing import Any

from django import forms

from hits.domain.money.pay import HOUR_SECONDS
from hits.domain.money.pay_forecast import PayForecast
from hits.domain.money.usd import format_dollars
from hits.kind import HitKind
from hits.models import Project
from hits.selectors.money.pay_forecast import forecast_launch_pay

REWARD_STEP_CENTS = 5  # defaults are rounded up to a multiple


@dataclass(frozen=True, slots=True)
class HourlyRate:
    """The hourly rate of a reward. Times in seconds, money in cents.

    seconds_per_task: the measured median time, or the kind's expected time if too few submissions were measured.
    """

    seconds_per_task: float
    target_cents: int
    reward_cents: int
    is_measured: bool

    @property
    def target_label(self) -> str:
        """The project's target per hour in dollars."""
        return format_dollars(self.target_cents)

    @property
    def rate_label(self) -> str:
        """The hourly rate of ``reward_cents`` in dollars."""
        return format_dollars(round(self.reward_cents * HOUR_SECONDS / self.seconds_per_task))


def suggest_reward(form: forms.Form, *, project: Project, kind: HitKind) -> None:
    """Set a launch form's default reward to one that reaches the project's target, and show the hourly rate.

    Only the kind's default changes; a typed reward or one from the query string stays.
    """
    forecast = forecast_launch_pay(project, kind, kind.reward_cents, redundancy=1, units=1)
    reward = default_reward_cents(kind, forecast)
    if form.initial.get("reward") == kind.reward_cents:
        form.initial["reward"] = reward
    field: Any = form.fields["reward"]
    field.hourly = HourlyRate(  # _field.html shows it
        forecast.median_seconds, project.target_cents_per_hour, reward, forecast.is_measured
    )


def default_reward_cents(kind: HitKind, forecast: PayForecast) -> int:
    """Return the kind's reward in cents, or the lowest step at which half of the work reaches the target."""
    return max(kind.reward_cents, -(-forecast.reward_for_half // REWARD_STEP_CENTS) * REWARD_STEP_CENTS)
