"""Jobs: one worker each, resumed after its death, cancelled on request."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app, shared_task
from django.db import OperationalError
from django.utils import timezone

from hits.domain.states import JobState
from hits.models import Heartbeat, Job
from hits.selectors.jobs import job_done_and_total
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs, subjobs
from hits.services.jobs.subjobs import PlannedSubjob, SplitIntoSubjobs
from tests.support import wake_ups
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def _job(**more: Any) -> Job:
    return jobs.enqueue(task="hits.nothing", title="Nothing", **more)


def test_a_job_is_done_once_by_one_of_two_workers() -> None:
    job = _job()
    taken = []

    def work() -> None:
        with jobs.leased_job(job.pk) as progress:
            taken.append(progress is not None)
            if progress is not None:
                wait_until(lambda: len(taken) == 4)  # the others come while it is at work

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [False, False, False, True]
    job.refresh_from_db()
    assert job.state == JobState.DONE


def test_a_job_of_a_dead_worker_is_taken_over_at_its_cursor() -> None:
    job = _job()
    past = timezone.now() - timedelta(minutes=2)
    Job.objects.filter(pk=job.pk).update(
        state="running", lease_owner="dead", lease_until=past, woken_at=None, cursor={"at": 7}
    )
    wake_ups.forget()
    assert jobs.sweep_jobs() == 1
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        assert progress.job.cursor == {"at": 7}


def test_job_with_a_live_lease_is_left_alone() -> None:
    job = _job()
    with jobs.leased_job(job.pk):
        assert jobs.sweep_jobs() == 0
        with jobs.leased_job(job.pk) as second:
            assert second is None


def test_the_lease_is_renewed_while_one_step_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "HEARTBEAT_SECONDS", 0.05)
    job = _job()
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(minutes=5))

        def is_renewed() -> bool:
            job.refresh_from_db()
            assert job.lease_until is not None
            return job.lease_until > timezone.now()

        wait_until(is_renewed, what="the lease was not renewed")


def test_the_lease_is_renewed_after_a_database_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(jobs, "HEARTBEAT_SECONDS", 0.02)
    beats = []

    def busy_at_first() -> None:
        beats.append(timezone.now())
        if len(beats) == 1:
            raise OperationalError("database is locked")

    monkeypatch.setattr(jobs, "record_heartbeat", busy_at_first)
    job = _job()
    with jobs.leased_job(job.pk):
        wait_until(lambda: len(beats) >= 3, 120, "the lease was not renewed again")
    assert f"job {job.pk}: its lease was not renewed; trying again" in caplog.text
    assert "database is locked" in caplog.text


def test_a_worker_that_was_replaced_stops_at_its_next_step() -> None:
    job = _job()
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        Job.objects.filter(pk=job.pk).update(lease_owner="somebody else")
        progress.advance(1, 2)
    job.refresh_from_db()
    assert job.state == JobState.RUNNING  # the other one's, untouched


def test_cancelling_stops_a_running_job_at_its_next_step() -> None:
    job = _job()
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        progress.advance(1, 10)
        jobs.cancel_job(job=job)
        progress.advance(2, 10)
    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.CANCELLED, 2)


def test_cancelling_a_queued_job_ends_it_at_once() -> None:
    job = _job()
    jobs.cancel_job(job=job)
    with jobs.leased_job(job.pk) as progress:
        assert progress is None
    with pytest.raises(Conflict):
        jobs.cancel_job(job=job)


def test_second_open_job_with_the_same_key_is_refused() -> None:
    first = _job(exclusive_key="publish:1")
    with pytest.raises(Conflict, match="running"):
        _job(exclusive_key="publish:1")
    jobs.cancel_job(job=first)
    _job(exclusive_key="publish:1")


def test_a_refusal_is_kept_as_the_reason_and_a_fault_is_raised() -> None:
    job = _job()
    with jobs.leased_job(job.pk):
        raise Refused("photo 7 is broken")
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.FAILED, "photo 7 is broken")
    other = _job()
    with pytest.raises(ZeroDivisionError), jobs.leased_job(other.pk):
        raise ZeroDivisionError("oops")
    other.refresh_from_db()
    assert (other.state, other.error) == (JobState.FAILED, "ZeroDivisionError: oops")


def test_sweep_records_a_worker_heartbeat() -> None:
    jobs.sweep_jobs()
    assert (timezone.now() - Heartbeat.objects.get(name=jobs.WORKER_HEARTBEAT).at).total_seconds() < 120


@pytest.fixture
def halves() -> Iterator[list[str]]:
    """Register a task that is split into two halves, and tell what was run."""
    ran: list[str] = []

    @shared_task(name="hits.test_whole")
    def whole(job_id: int) -> None:
        with jobs.leased_job(job_id) as progress:
            if progress is not None:
                missing = [name for name in ("left", "right") if name not in ran]
                if missing:
                    parts = [PlannedSubjob(f"The {name} half", 5, {"name": name}) for name in missing]
                    raise SplitIntoSubjobs(task="hits.test_half", subjobs=parts, done=10 - 5 * len(missing))
                ran.append("whole")

    @shared_task(name="hits.test_half")
    def half(job_id: int) -> None:
        with jobs.leased_job(job_id) as progress:
            if progress is not None:
                name = progress.job.args["name"]
                progress.advance(3, 5)
                if name in broken:
                    raise Refused(f"the {name} half is broken")
                if name in faults:
                    raise ZeroDivisionError(f"the {name} half")
                ran.append(name)

    broken: set[str] = set()
    faults: set[str] = set()
    half.broken, half.faults = broken, faults
    current_app.finalize()
    yield ran
    for name in ("hits.test_whole", "hits.test_half"):
        current_app.tasks.pop(name, None)


def test_a_parent_is_not_called_again_while_its_subjobs_are_being_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second process looks for open subjobs just before the first one stores them."""
    parent = _job(queue=False)
    Job.objects.filter(pk=parent.pk).update(state=JobState.RUNNING, lease_owner="first")
    parent.refresh_from_db()
    split = SplitIntoSubjobs(task="hits.test_half", subjobs=[PlannedSubjob("The left half", 5)])
    real, stored = subjobs._sum_subjobs_done, []

    def store_meanwhile(parent_id: int) -> int:
        if not stored:
            stored.extend(subjobs.store_subjobs_and_set_waiting(parent, split))
        return real(parent_id)

    monkeypatch.setattr(subjobs, "_sum_subjobs_done", store_meanwhile)
    assert subjobs.finish_or_requeue_parent_if_done(parent.pk) is None
    if not stored:
        store_meanwhile(parent.pk)
    parent.refresh_from_db()
    assert (parent.state, parent.subjobs.get().state) == (JobState.WAITING, JobState.QUEUED)
    assert subjobs.finish_or_requeue_parent_if_done(parent.pk) is None
    parent.subjobs.update(state=JobState.DONE)
    woken = subjobs.finish_or_requeue_parent_if_done(parent.pk)
    assert woken is not None
    assert woken.state == JobState.QUEUED


def _whole() -> Job:
    return jobs.enqueue(task="hits.test_whole", title="Both halves", queue=False, resumable=True)


def test_split_job_continues_when_its_last_subjob_is_done(halves: list[str]) -> None:
    job = _whole()
    current_app.tasks["hits.test_whole"](job.pk)
    job.refresh_from_db()
    assert (job.state, job.total, halves) == (JobState.WAITING, 10, [])
    left, right = job.subjobs.order_by("pk")
    current_app.tasks["hits.test_half"](left.pk)
    job.refresh_from_db()
    assert (job.state, job_done_and_total(job)) == (JobState.WAITING, (5, 10))
    current_app.tasks["hits.test_half"](right.pk)
    job.refresh_from_db()
    assert job.state == JobState.QUEUED  # woken, and taken by the next worker
    current_app.tasks["hits.test_whole"](job.pk)
    job.refresh_from_db()
    assert (job.state, job.done, halves) == (JobState.DONE, 10, ["left", "right", "whole"])


def test_split_job_runs_in_one_process(halves: list[str]) -> None:
    reported: list[str] = []
    job = jobs.run_in_process(job=_whole(), listener=lambda row, line: reported.append(line or str(row.done)))
    assert (job.state, halves) == (JobState.DONE, ["left", "right", "whole"])
    assert "3" in reported
    assert "Done" in reported


def test_failed_subjob_fails_the_parent_and_resuming_does_the_rest(halves: list[str]) -> None:
    broken = current_app.tasks["hits.test_half"].broken
    broken.add("right")
    job = jobs.run_in_process(job=_whole())
    assert (job.state, job.error) == (JobState.FAILED, "The right half: the right half is broken")
    broken.clear()
    job = jobs.run_in_process(job=jobs.resume_job(job=job, queue=False))
    assert (job.state, halves) == (JobState.DONE, ["left", "right", "whole"])
    lines = [line.text for line in job.lines.all()]
    assert lines == [
        "The left half: done",
        "The right half: failed (the right half is broken)",
        "Resumed at 8 of 10",
        "The right half: done",
        "All sub-jobs are done",
        "Done",
    ]


def test_cancelled_split_job_cancels_its_subjobs_and_can_be_resumed(halves: list[str]) -> None:
    job = _whole()
    current_app.tasks["hits.test_whole"](job.pk)
    jobs.cancel_job(job=job)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    assert {part.state for part in job.subjobs.all()} == {"cancelled"}
    assert jobs.run_in_process(job=jobs.resume_job(job=job, queue=False)).state == JobState.DONE


def test_subjob_with_a_fault_fails_the_parent_and_the_others_are_done(halves: list[str]) -> None:
    faults = current_app.tasks["hits.test_half"].faults
    faults.add("left")
    job = jobs.run_in_process(job=_whole())
    assert (job.state, job.error) == (JobState.FAILED, "The left half: ZeroDivisionError: the left half")
    assert halves == ["right"]
    assert {part.state for part in job.subjobs.all()} == {"failed", "done"}
    faults.clear()
    assert jobs.run_in_process(job=jobs.resume_job(job=job, queue=False)).state == JobState.DONE


def test_task_that_cannot_start_is_raised_and_not_retried() -> None:
    with pytest.raises(current_app.tasks.NotRegistered):
        jobs.run_in_process(job=jobs.enqueue(task="hits.not_known", title="Unknown", queue=False))


def _die(*rows: Job) -> None:
    """Leave the rows as a process does that is killed, a while later."""
    past = timezone.now() - timedelta(seconds=1)
    for row in rows:
        Job.objects.filter(pk=row.pk).update(state="running", lease_owner="dead", lease_until=past, runs=1)


def test_a_job_whose_process_died_is_resumed_without_a_worker(halves: list[str]) -> None:
    job = _whole()
    _die(job)
    job.refresh_from_db()
    assert jobs.run_in_process(job=jobs.resume_job(job=job, queue=False)).state == JobState.DONE
    with pytest.raises(Conflict, match="cannot be resumed"):
        jobs.resume_job(job=job)


def test_a_job_that_somebody_works_on_is_not_resumed(halves: list[str]) -> None:
    job = _whole()
    with jobs.leased_job(job.pk), pytest.raises(Conflict, match=r"a process is working on it.*30 seconds"):
        jobs.resume_job(job=job, queue=False)
    other = _whole()
    current_app.tasks["hits.test_whole"](other.pk)
    part = other.subjobs.first()
    assert part is not None
    with jobs.leased_job(part.pk), pytest.raises(Conflict, match="a process is working on it"):
        jobs.resume_job(job=other, queue=False)
    assert {row.state for row in other.subjobs.all()} == {"done", "queued"}


def test_a_process_that_was_only_slow_does_not_end_the_resumed_job() -> None:
    job = _job(resumable=True)
    with jobs.leased_job(job.pk):
        Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        jobs.resume_job(job=job, queue=False)
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_a_job_whose_process_died_is_cancelled_at_once_and_gives_its_key_back() -> None:
    job = _job(exclusive_key="publish:1")
    _die(job)
    with pytest.raises(Conflict, match=f"running already as job {job.pk};"):
        _job(exclusive_key="publish:1")
    jobs.cancel_job(job=job)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED
    _job(exclusive_key="publish:1")


def test_following_a_job_of_another_worker_can_be_interrupted(halves: list[str]) -> None:
    class Stop(Exception):
        pass

    def stop(row: Job, line: str) -> None:
        raise Stop

    job = _whole()
    with jobs.leased_job(job.pk):
        job.refresh_from_db()
        with pytest.raises(Stop):
            jobs.run_in_process(job=job, listener=stop)
    assert halves == []


@pytest.fixture
def orphans(halves: list[str]) -> Job:
    """Return a split job whose process died in its first part."""
    job = _whole()
    current_app.tasks["hits.test_whole"](job.pk)
    part = job.subjobs.order_by("pk").first()
    assert part is not None
    _die(part)
    Job.objects.filter(pk=part.pk).update(done=2)
    job.refresh_from_db()
    return job


def test_split_job_whose_process_died_in_a_subjob_is_resumed(orphans: Job, halves: list[str]) -> None:
    job = jobs.resume_job(job=orphans, queue=False)
    assert (job.state, job.done) == (JobState.QUEUED, 2)
    assert {part.state for part in job.subjobs.all()} == {"cancelled"}
    assert jobs.run_in_process(job=job).state == JobState.DONE
    assert halves == ["left", "right", "whole"]


def test_run_in_process_claims_subjobs_whose_process_died(orphans: Job, halves: list[str]) -> None:
    assert jobs.run_in_process(job=orphans).state == JobState.DONE
    assert halves == ["left", "right", "whole"]


def test_cancelled_split_job_ends_subjobs_whose_process_died(orphans: Job) -> None:
    jobs.cancel_job(job=orphans)
    assert {part.state for part in orphans.subjobs.all()} == {"cancelled"}


def test_subjob_cannot_be_resumed_alone(orphans: Job) -> None:
    Job.objects.filter(pk=orphans.pk).update(resumable=False)
    with pytest.raises(Conflict, match="cannot be resumed"):
        jobs.resume_job(job=orphans)
    orphans.refresh_from_db()
    assert orphans.state == JobState.WAITING
    assert {part.state for part in orphans.subjobs.all()} == {"running", "queued"}


def test_run_in_process_notices_that_all_subjobs_are_over(halves: list[str]) -> None:
    job = _whole()
    current_app.tasks["hits.test_whole"](job.pk)
    halves += ["left", "right"]
    job.subjobs.all().update(state=JobState.DONE)
    job.refresh_from_db()
    assert jobs.run_in_process(job=job).state == JobState.DONE


def test_sweeper_notices_subjobs_that_ended_without_a_wakeup(halves: list[str]) -> None:
    job = _whole()
    current_app.tasks["hits.test_whole"](job.pk)
    halves += ["left", "right"]
    job.subjobs.all().update(state=JobState.DONE)  # as if the worker died before it looked at the whole
    jobs.sweep_jobs()
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_only_a_resumable_job_that_is_over_is_resumed(halves: list[str]) -> None:
    with pytest.raises(Conflict, match="cannot be resumed"):
        jobs.resume_job(job=_whole())
    plain = _job()
    jobs.cancel_job(job=plain)
    with pytest.raises(Conflict, match="cannot be resumed"):
        jobs.resume_job(job=plain)


def test_resuming_waits_for_another_open_job_with_its_key(halves: list[str]) -> None:
    more = {"exclusive_key": "halves", "resumable": True, "queue": False}
    first = jobs.enqueue(task="hits.test_whole", title="Both", **more)
    jobs.cancel_job(job=first)
    jobs.enqueue(task="hits.test_whole", title="Both", **more)
    with pytest.raises(Conflict, match="running"):
        jobs.resume_job(job=first)


def test_job_interrupted_at_the_keyboard_can_be_resumed() -> None:
    job = _job(resumable=True)
    with pytest.raises(KeyboardInterrupt), jobs.leased_job(job.pk):
        raise KeyboardInterrupt
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.CANCELLED, "interrupted at the keyboard")


def test_held_lease_keeps_the_job_through_a_long_silence() -> None:
    job = jobs.enqueue(task="hits.nothing", title="Long step")
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        progress.hold_lease(600)
        progress.advance(1, 2)  # neither this nor the heartbeat shortens it
        job.refresh_from_db()
        assert job.lease_until is not None
        assert job.lease_until > timezone.now() + timedelta(seconds=600)
        progress.hold_lease(0)
        job.refresh_from_db()
        assert job.lease_until <= timezone.now() + jobs.LEASE
