"""Jobs: one worker each, taken up again when it dies, cancelled when asked."""

import threading
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from hits.domain.states import JobState
from hits.models import Heartbeat, Job
from hits.services import jobs
from hits.services.errors import Conflict, Refused

pytestmark = pytest.mark.django_db(transaction=True)


def _job(**more: str) -> Job:
    return jobs.enqueue(task="hits.nothing", title="Nothing", **more)


def test_a_job_is_done_once_by_one_of_two_workers() -> None:
    job = _job()
    taken = []

    def work() -> None:
        with jobs.claimed(job.pk) as progress:
            taken.append(progress is not None)
            time.sleep(0.2)

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
        state="running", lease_owner="dead", lease_until=past, cursor={"at": 7}
    )
    assert jobs.sweep() == 1
    with jobs.claimed(job.pk) as progress:
        assert progress is not None
        assert progress.job.cursor == {"at": 7}


def test_a_job_in_good_hands_is_left_alone() -> None:
    job = _job()
    with jobs.claimed(job.pk):
        assert jobs.sweep() == 0
        with jobs.claimed(job.pk) as second:
            assert second is None


def test_the_lease_is_renewed_while_one_step_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "HEARTBEAT_SECONDS", 0.05)
    job = _job()
    with jobs.claimed(job.pk) as progress:
        assert progress is not None
        Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(minutes=5))
        for _ in range(60):
            time.sleep(0.05)
            job.refresh_from_db()
            assert job.lease_until is not None
            if job.lease_until > timezone.now():
                break
        assert job.lease_until > timezone.now()


def test_a_worker_that_was_replaced_stops_at_its_next_step() -> None:
    job = _job()
    with jobs.claimed(job.pk) as progress:
        assert progress is not None
        Job.objects.filter(pk=job.pk).update(lease_owner="somebody else")
        progress.advance(1, 2)
    job.refresh_from_db()
    assert job.state == JobState.RUNNING  # the other one's, untouched


def test_cancelling_stops_a_running_job_at_its_next_step() -> None:
    job = _job()
    with jobs.claimed(job.pk) as progress:
        assert progress is not None
        progress.advance(1, 10)
        jobs.cancel(job=job)
        progress.advance(2, 10)
    job.refresh_from_db()
    assert (job.state, job.done) == (JobState.CANCELLED, 2)


def test_cancelling_a_queued_job_ends_it_at_once() -> None:
    job = _job()
    jobs.cancel(job=job)
    with jobs.claimed(job.pk) as progress:
        assert progress is None
    with pytest.raises(Conflict):
        jobs.cancel(job=job)


def test_one_open_job_a_key() -> None:
    first = _job(exclusive_key="publish:1")
    with pytest.raises(Conflict, match="under way"):
        _job(exclusive_key="publish:1")
    jobs.cancel(job=first)
    _job(exclusive_key="publish:1")


def test_a_refusal_is_kept_as_the_reason_and_a_fault_is_raised() -> None:
    job = _job()
    with jobs.claimed(job.pk):
        raise Refused("photo 7 is broken")
    job.refresh_from_db()
    assert (job.state, job.error) == (JobState.FAILED, "photo 7 is broken")
    other = _job()
    with pytest.raises(ZeroDivisionError), jobs.claimed(other.pk):
        raise ZeroDivisionError("oops")
    other.refresh_from_db()
    assert (other.state, other.error) == (JobState.FAILED, "ZeroDivisionError: oops")


def test_sweeping_says_that_a_worker_is_alive() -> None:
    jobs.sweep()
    assert (timezone.now() - Heartbeat.objects.get(name=jobs.WORKER).at).total_seconds() < 5
