"""Read calls to generators and chat models as pages list them: a call that no process waits for is lost.

Its stored state says so only after its run was resumed.
"""

from typing import Any

from django.db.models import Case, CharField, F, Q, QuerySet, Value, When
from django.utils import timezone

from curation.models import CallState, ModelCall, ModelRun
from hits.domain.states import JobState
from hits.models import Job


def worked_on_jobs() -> "QuerySet[Job]":
    """Return the jobs that a living process works on, themselves or in a subjob."""
    alive = Job.objects.filter(state=JobState.RUNNING).exclude(lease_until__lt=timezone.now())
    parents = alive.exclude(parent=None).values("parent")
    return Job.objects.filter(Q(pk__in=alive.values("pk")) | Q(pk__in=parents))


def with_shown_state(calls: "QuerySet[ModelCall]") -> "QuerySet[Any]":
    """Annotate calls with ``shown_state``: ``lost`` also if it was sent, and no process works on its run's job."""
    is_dead = Q(state=CallState.SENT) & ~Q(run__job__in=worked_on_jobs())
    shown = Case(
        When(is_dead, then=Value(CallState.LOST.value)), default=F("state"), output_field=CharField()
    )
    return calls.annotate(shown_state=shown)


def lost_calls(run: ModelRun) -> "QuerySet[Any]":
    """Return the calls that may have been paid without a reply."""
    calls = with_shown_state(ModelCall.objects.filter(run=run))
    return calls.filter(shown_state=CallState.LOST).order_by("pk")
