"""Jobs that are split: parts are jobs of their own, and the last one to end wakes the whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Sum
from django.utils import timezone

from hits.domain.jobs.queues import queue_of
from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Job
from hits.selectors.jobs import SINCE


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a job. ``total`` counts in the whole's own unit, such as images."""

    title: str
    total: int
    args: dict[str, Any] = field(default_factory=dict)


class Split(Exception):
    """Raised inside a job to hand its work to parts; its task is called again once all of them are done.

    ``done`` of ``total`` is what needs no part any more, since an earlier run did it.
    """

    def __init__(self, *, task: str, parts: Sequence[Part], done: int = 0) -> None:
        super().__init__(f"{len(parts)} parts")
        self.task = task
        self.parts = tuple(parts)
        self.done = done
        self.total = done + sum(part.total for part in parts)


@transaction.atomic
def store(job: Job, split: Split) -> list[Job]:
    """Put a claimed job to waiting and return its new parts; none when somebody else has the job by now.

    Parts of an earlier run are forgotten: what they finished is counted in ``split.done``.
    """
    mine = Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state=JobState.RUNNING)
    if not mine.update(
        state=JobState.WAITING,
        lease_until=None,
        done=split.done,
        total=split.total,
        cursor=job.cursor | {SINCE: split.done},
    ):
        return []
    job.parts.all().delete()
    return Job.objects.bulk_create(
        [
            Job(
                task=split.task,
                queue=queue_of(split.task),
                project_id=job.project_id,
                parent=job,
                title=part.title[:160],
                args=part.args,
                total=part.total,
                created_by_id=job.created_by_id,
            )
            for part in split.parts
        ]
    )


def settle(parent_id: int) -> Job | None:
    """Let a waiting job follow its parts once none is open; return it when it is to be woken."""
    parts = Job.objects.filter(parent=parent_id)
    if parts.filter(state__in=OPEN_JOB_STATES).exists():
        return None
    waiting = Job.objects.filter(pk=parent_id, state=JobState.WAITING)
    did = F("done") + _done_by(parent_id)
    failed = parts.filter(state=JobState.FAILED).order_by("pk").first()
    if failed is not None:
        waiting.update(
            state=JobState.FAILED,
            error=f"{failed.title}: {failed.error}"[:1000],
            finished_at=timezone.now(),
            done=did,
        )
    elif parts.filter(state=JobState.CANCELLED).exists():
        waiting.update(
            state=JobState.CANCELLED, error="a part was cancelled", finished_at=timezone.now(), done=did
        )
    elif waiting.update(state=JobState.QUEUED, done=did):
        return Job.objects.get(pk=parent_id)
    return None


def _done_by(parent_id: int) -> int:
    return Job.objects.filter(parent=parent_id).aggregate(done=Sum("done"))["done"] or 0


def lost(now: datetime) -> Q:
    """Match the jobs that run by their row alone: the lease ran out, so whoever had them has died."""
    return Q(state=JobState.RUNNING, lease_until__lt=now)


def give_up(parent_id: int, now: datetime) -> None:
    """End a waiting job and its open parts, unless somebody works on one of them."""
    parts = Job.objects.filter(parent=parent_id)
    held = Job.objects.filter(parent=OuterRef("pk"), state=JobState.RUNNING, lease_until__gte=now)
    waiting = Job.objects.filter(~Exists(held), pk=parent_id, state=JobState.WAITING)
    if waiting.update(state=JobState.CANCELLED, finished_at=now):
        parts.filter(state__in=OPEN_JOB_STATES).update(state=JobState.CANCELLED, finished_at=now)
        Job.objects.filter(pk=parent_id).update(done=F("done") + _done_by(parent_id))


def cancel(parent_id: int) -> None:
    """Stop all parts of a job: those that nobody works on at once, those that run at their next step."""
    now = timezone.now()
    parts = Job.objects.filter(parent=parent_id)
    parts.filter(Q(state=JobState.QUEUED) | lost(now)).update(state=JobState.CANCELLED, finished_at=now)
    parts.filter(state=JobState.RUNNING).update(cancel_requested=True)


def orphaned() -> list[int]:
    """Return the waiting jobs whose parts are all over; whoever ended the last one died before it said so."""
    open_parts = Job.objects.filter(parent__isnull=False, state__in=OPEN_JOB_STATES).values("parent")
    return list(
        Job.objects.filter(state=JobState.WAITING).exclude(pk__in=open_parts).values_list("pk", flat=True)
    )
