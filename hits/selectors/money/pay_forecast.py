"""Forecast of a launch's pay per hour, from the times of earlier work of the same kind."""

from django.db.models import QuerySet

from hits.domain.money.pay_forecast import PayForecast, PayPlan, PaySample, forecast_pay
from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.kind import HitKind
from hits.models import Assignment, Project

MAX_SAMPLES = 1_000  # the latest submissions; older ones predict little


def forecast_launch_pay(
    project: Project,
    kind: HitKind,
    reward_cents: int,
    *,
    redundancy: int,
    units: int,
    bonus_cents: int = 0,
) -> PayForecast:
    """Return what a batch of ``units`` × ``redundancy`` is likely to pay per hour; one query.

    Uses the project's latest 1,000 confirmed submissions of the kind that were not rejected, with their bonuses. With
    fewer than five, it uses the kind's expected time.
    """
    pays_bonus = bool(bonus_cents and kind.max_bonus_items)
    fields = ("submission__active_seconds", "hit__unit__batch_id")
    answers = ("submission__answer",) if pays_bonus else ()
    rows = list(_timed_assignments(project, kind.name).values_list(*fields, *answers)[:MAX_SAMPLES])
    samples = [
        PaySample(seconds, kind.bonus_items(answer[0]) if pays_bonus else 0) for seconds, _, *answer in rows
    ]
    return forecast_pay(
        samples=samples,
        batches=len({batch for _, batch, *_ in rows}),
        expected_seconds=kind.expected_seconds,
        plan=PayPlan(reward_cents, bonus_cents, redundancy * units, project.target_cents_per_hour),
    )


def _timed_assignments(project: Project, kind: str) -> "QuerySet[Assignment]":
    rows = Assignment.objects.filter(
        hit__unit__batch__project=project,
        hit__unit__batch__kind=kind,
        match=SubmissionMatch.MATCHED,
        submission__active_seconds__gt=0,
    )
    return rows.exclude(status=AssignmentStatus.REJECTED).order_by("-submitted_at", "-id")
