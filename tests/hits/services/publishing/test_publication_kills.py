"""Killed publications resume by themselves: nothing is doubled or lost, and no job is “done” too early."""

import os
import random
import signal
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from hits import tasks
from hits.domain.crashpoints import EXIT_STATUS
from hits.domain.states import BatchState, HitState, JobState
from hits.marketplace.models import HIT
from hits.models import Batch, Hit, Image, Job, Project
from hits.services.batches import lifecycle
from tests.support import children, market, wake_ups
from tests.support.failing import check_each_once, leases_run_out, planned, publish_all
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(3600)]
MakeImage = Callable[..., Image]

HITS, KILLED_AT = 60, 7


def _live(batch: Batch) -> int:
    return Hit.objects.filter(unit__batch=batch, state=HitState.LIVE).count()


def _time_passes() -> None:
    """Let the leases of dead processes end, and the pauses of jobs that wait for them."""
    leases_run_out()
    past = timezone.now() - timedelta(minutes=1)
    Job.objects.exclude(not_before=None).update(not_before=past)
    Job.objects.filter(state=JobState.RUNNING).update(lease_until=past)
    Job.objects.update(woken_at=None, created_at=past)


def _swept() -> list[int]:
    """Do what the clock's sweep does, and return the jobs that were woken."""
    wake_ups.forget()
    tasks.sweep_jobs()
    return list(Job.objects.exclude(woken_at=None).values_list("pk", flat=True))


def _publish_job(batch: Batch) -> Job:
    return Job.objects.filter(exclusive_key=f"publish:{batch.pk}").latest("pk")


def test_publication_whose_command_was_killed_is_resumed_by_its_job(
    project: Project, make_image: MakeImage
) -> None:
    market.fund(100_000_000)
    batch = planned(project, make_image(1), HITS)
    job = _publish_job(batch)
    assert children.forked(publish_all, crash_at=f"publish.after_result:{KILLED_AT}") == EXIT_STATUS
    assert _live(batch) == KILLED_AT

    tasks.publish_batch(job.pk)  # the dead command's lease has not ended yet
    job.refresh_from_db()
    assert (job.state, _live(batch)) == (JobState.QUEUED, KILLED_AT)
    tasks.publish_batch(job.pk)  # a message that comes too early does nothing
    job.refresh_from_db()
    assert (job.state, job.runs) == (JobState.QUEUED, 1)

    _time_passes()
    assert _swept() == [job.pk]
    tasks.publish_batch(job.pk)
    job.refresh_from_db()
    batch.refresh_from_db()
    assert (job.state, batch.state) == (JobState.DONE, BatchState.LIVE)
    assert list(job.lines.values_list("text", flat=True))[-1] == "Done"
    check_each_once(batch, HITS)


@pytest.mark.parametrize(
    ("ended", "died", "is_resumed"),
    [
        (JobState.DONE, False, True),
        (JobState.FAILED, False, False),
        (JobState.CANCELLED, False, False),
        (JobState.FAILED, True, True),
        (JobState.CANCELLED, True, True),
    ],
)
def test_sweep_resumes_orphaned_publications_that_nobody_stopped(
    project: Project, make_image: MakeImage, ended: JobState, died: bool, is_resumed: bool
) -> None:
    """A cancellation or a refusal is final, unless a later process restarted the publication and died."""
    market.fund(100_000_000)
    batch = planned(project, make_image(1), 3)
    past = timezone.now() - timedelta(minutes=3)
    Job.objects.update(state=ended, created_at=past)
    if died:
        Batch.objects.update(lease_owner="dead", lease_until=timezone.now() - timedelta(seconds=1))
    assert lifecycle.resume_orphaned_publications() == is_resumed
    assert lifecycle.resume_orphaned_publications() == 0
    if is_resumed:
        tasks.publish_batch(_publish_job(batch).pk)
        check_each_once(batch, 3)
    else:
        assert not HIT.objects.exists()


def test_sweep_leaves_a_publication_with_a_live_lease_alone(project: Project, make_image: MakeImage) -> None:
    batch = planned(project, make_image(1), 3)
    Job.objects.update(state=JobState.DONE)
    Batch.objects.update(lease_owner="alive", lease_until=timezone.now() + timedelta(seconds=60))
    assert lifecycle.resume_orphaned_publications() == 0
    Batch.objects.update(lease_owner="", lease_until=None, environment="aws-sandbox")
    assert lifecycle.resume_orphaned_publications() == 0  # another marketplace is set
    assert _publish_job(batch).state == JobState.DONE


def _resume() -> None:
    call_command("resume_batch", str(Batch.objects.get().pk))


def _work() -> None:
    """Do the jobs that may be done, as a worker does."""
    for job in Job.objects.filter(state__in=[JobState.QUEUED, JobState.RUNNING]):
        tasks.publish_batch(job.pk)


def _wait_until_live(batch: Batch, count: int, publisher: int, *, step: float) -> None:
    """Wait until so many HITs are live, or the publisher has ended."""
    wait_until(lambda: _live(batch) >= count or children.has_ended(publisher), 180, step=step)


def _killed_rounds(project: Project, image: Image, rounds: int, count: int) -> None:
    """Kill publishers at random moments, commands and workers, until none is left to kill."""
    chance = random.Random(rounds)
    market.fund(100_000_000)
    batch = planned(project, image, count)
    killed = 0
    for number in range(1, rounds + 1):
        # Each round may do its share of the HITs, so that the last one has something left to do.
        reached = chance.randint(_live(batch), count * number // (rounds + 1))
        child = children.start(chance.choice((_work, _resume)))
        _wait_until_live(batch, reached, child, step=chance.uniform(0.002, 0.02))
        os.kill(child, signal.SIGKILL)
        killed += children.wait(child) == -signal.SIGKILL and _live(batch) < count
        _time_passes()
        if chance.random() < 0.5:
            _swept()
    assert killed > rounds / 2  # in the midst of it
    for _ in range(3):
        _time_passes()
        _swept()
        assert children.forked(_work) == 0
    assert not Job.objects.exclude(state=JobState.DONE).exists()
    check_each_once(batch, count)


@pytest.mark.long
def test_publishers_killed_in_two_rounds_leave_each_hit_once(project: Project, make_image: MakeImage) -> None:
    _killed_rounds(project, make_image(1), rounds=2, count=150)


@pytest.mark.nightly
def test_publishers_killed_in_twenty_rounds_leave_each_hit_once(
    project: Project, make_image: MakeImage
) -> None:
    _killed_rounds(project, make_image(1), rounds=20, count=1200)
