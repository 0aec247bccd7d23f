"""What a launch will pay per hour, from what work of the same kind took before."""

from django.db.models import QuerySet

from hits.domain.money.pay_forecast import Forecast, Plan, Sample, forecast
from hits.domain.states import AssignmentStatus, Match
from hits.kind import HitKind
from hits.models import Assignment, Project

LATEST = 1_000  # submissions; older ones say little about the next


def forecast_for(
    project: Project,
    kind: HitKind,
    reward_cents: int,
    bonus_cents: int,
    opinions: int,
    units: int,
) -> Forecast:
    """Return what a batch of ``units`` × ``opinions`` is likely to pay per hour; one query.

    It rests on the latest thousand confirmed submissions of the kind in this project that nobody rejected, with the
    bonuses that they earned; on the kind's usual time where there are fewer than five.
    """
    pays_bonus = bool(bonus_cents and kind.max_bonus_items)
    fields = ("submission__active_seconds", "hit__unit__batch_id")
    answers = ("submission__answer",) if pays_bonus else ()
    rows = list(_pilot(project, kind.name).values_list(*fields, *answers)[:LATEST])
    samples = [
        Sample(seconds, kind.bonus_items(answer[0]) if pays_bonus else 0) for seconds, _, *answer in rows
    ]
    return forecast(
        samples=samples,
        batches=len({batch for _, batch, *_ in rows}),
        usual_seconds=kind.usual_seconds,
        plan=Plan(reward_cents, bonus_cents, opinions * units, project.target_cents_per_hour),
    )


def _pilot(project: Project, kind: str) -> "QuerySet[Assignment]":
    found = Assignment.objects.filter(
        hit__unit__batch__project=project,
        hit__unit__batch__kind=kind,
        match=Match.MATCHED,
        submission__active_seconds__gt=0,
    )
    return found.exclude(status=AssignmentStatus.REJECTED).order_by("-submitted_at", "-id")
