"""Split jobs: subjobs are jobs of their own, and the last one to end wakes the parent."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Sum
from django.utils import timezone

from hits.domain.jobs.queues import task_queue
from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Job
from hits.selectors.jobs import DONE_AT_START
from hits.services.jobs.lease import lost_job_filter


@dataclass(frozen=True, slots=True)
class PlannedSubjob:
    """A subjob to create. ``total`` counts in the parent's unit, for example images."""

    title: str
    total: int
    args: dict[str, Any] = field(default_factory=dict)


class SplitIntoSubjobs(Exception):
    """Raised inside a job to split its work into subjobs; its task runs again after all of them are done.

    ``done`` counts what an earlier run did, so that no subjob needs to.
    """

    def __init__(self, *, task: str, subjobs: Sequence[PlannedSubjob], done: int = 0) -> None:
        super().__init__(f"{len(subjobs)} subjobs")
        self.task = task
        self.subjobs = tuple(subjobs)
        self.done = done
        self.total = done + sum(subjob.total for subjob in subjobs)


@transaction.atomic
def store_subjobs_and_set_waiting(job: Job, split: SplitIntoSubjobs) -> list[Job]:
    """Set a claimed job to waiting and return its new subjobs; none if another process has the job.

    Subjobs of an earlier run are deleted; ``split.done`` counts what they finished.
    """
    own_job = Job.objects.filter(pk=job.pk, lease_owner=job.lease_owner, state=JobState.RUNNING)
    if not own_job.update(
        state=JobState.WAITING,
        lease_until=None,
        done=split.done,
        total=split.total,
        cursor=job.cursor | {DONE_AT_START: split.done},
    ):
        return []
    job.subjobs.all().delete()
    return Job.objects.bulk_create(
        [
            Job(
                task=split.task,
                queue=task_queue(split.task),
                project_id=job.project_id,
                parent=job,
                title=subjob.title[:160],
                args=subjob.args,
                total=subjob.total,
                created_by_id=job.created_by_id,
            )
            for subjob in split.subjobs
        ]
    )


def finish_or_requeue_parent_if_done(parent_id: int) -> Job | None:
    """End or requeue a waiting job when no subjob is open; return it if it has to be woken."""
    if not Job.objects.filter(pk=parent_id, state=JobState.WAITING).exists():
        return None
    with transaction.atomic():
        # Locked before its subjobs are read: another process may be storing them at this moment.
        parent = Job.objects.select_for_update().get(pk=parent_id)
        return _finish_or_requeue(parent) if parent.state == JobState.WAITING else None


def _finish_or_requeue(parent: Job) -> Job | None:
    subjobs = Job.objects.filter(parent=parent)
    if subjobs.filter(state__in=OPEN_JOB_STATES).exists():
        return None
    waiting = Job.objects.filter(pk=parent.pk, state=JobState.WAITING)
    total_done = F("done") + _sum_subjobs_done(parent.pk)
    failed = subjobs.filter(state=JobState.FAILED).order_by("pk").first()
    if failed is not None or subjobs.filter(state=JobState.CANCELLED).exists():
        state = JobState.CANCELLED if failed is None else JobState.FAILED
        error = "a step was cancelled" if failed is None else f"{failed.title}: {failed.error}"[:1000]
        waiting.update(state=state, error=error, finished_at=timezone.now(), done=total_done)
    elif waiting.update(state=JobState.QUEUED, done=total_done):
        return Job.objects.get(pk=parent.pk)
    return None


def _sum_subjobs_done(parent_id: int) -> int:
    return Job.objects.filter(parent=parent_id).aggregate(done=Sum("done"))["done"] or 0


def cancel_waiting_parent_if_idle(parent_id: int, now: datetime) -> None:
    """Cancel a waiting job and its open subjobs, unless a process works on one of them."""
    subjobs = Job.objects.filter(parent=parent_id)
    running_subjobs = Job.objects.filter(parent=OuterRef("pk"), state=JobState.RUNNING, lease_until__gte=now)
    waiting = Job.objects.filter(~Exists(running_subjobs), pk=parent_id, state=JobState.WAITING)
    if waiting.update(state=JobState.CANCELLED, finished_at=now):
        subjobs.filter(state__in=OPEN_JOB_STATES).update(state=JobState.CANCELLED, finished_at=now)
        Job.objects.filter(pk=parent_id).update(done=F("done") + _sum_subjobs_done(parent_id))


def cancel_subjobs(parent_id: int) -> None:
    """Cancel all subjobs: idle ones immediately, running ones at their next step."""
    now = timezone.now()
    subjobs = Job.objects.filter(parent=parent_id)
    subjobs.filter(Q(state=JobState.QUEUED) | lost_job_filter(now)).update(
        state=JobState.CANCELLED, finished_at=now
    )
    subjobs.filter(state=JobState.RUNNING).update(cancel_requested=True)


def find_orphaned_parents() -> list[int]:
    """Return the waiting jobs without open subjobs; the process of the last subjob died before it woke them."""
    open_parents = Job.objects.filter(parent__isnull=False, state__in=OPEN_JOB_STATES).values("parent")
    return list(
        Job.objects.filter(state=JobState.WAITING).exclude(pk__in=open_parents).values_list("pk", flat=True)
    )
