"""Few messages do for many jobs, on every broker that answers; and each is acknowledged at once."""

import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from celery import current_app
from django.utils import timezone

from hits.domain.jobs.queues import Queue
from hits.domain.states import JobState
from hits.models import Job
from hits.services.jobs import jobs
from tests.support import children, rabbit, wake_ups
from tests.support.redis_server import redis_url, skip_without_redis
from tests.support.sleepers import SLEEP
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

REDIS = redis_url(6)
SETTINGS = "tests.support.worker_settings"
PARTS = 977  # a million images in shards of 1,024
SWEEPS = 100
MOST = 2  # twice the heavy worker's one slot

SWEEPING = f"""
from datetime import timedelta
from django.db.models import F
from hits.models import Job
from hits.services.jobs import jobs, wakeups
for _ in range({SWEEPS}):
    jobs.sweep_jobs()
    for job in Job.objects.exclude(woken_at=None):
        Job.objects.filter(pk=job.pk).update(woken_at=job.woken_at - timedelta(seconds=61))
print("waiting", wakeups.queue_depth("cpu"))
"""


@pytest.fixture(autouse=True)
def empty_queue() -> Iterator[None]:
    wake_ups.forget()
    yield
    wake_ups.forget()


def _whole_with_parts(count: int = PARTS) -> Job:
    whole = jobs.enqueue(task="curation.make_features", title="Whole", queue=False)
    Job.objects.filter(pk=whole.pk).update(state=JobState.WAITING)
    Job.objects.bulk_create(
        Job(task="curation.make_feature_shard", queue=Queue.CPU, parent=whole, title=f"Part {n}", total=1)
        for n in range(count)
    )
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    return whole


def _waiting_after_many_sweeps(**more: str) -> int:
    _whole_with_parts()
    done = children.run(SWEEPING, **more)
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout.split("waiting")[1])


def test_977_subjobs_without_a_worker_get_two_messages() -> None:
    assert 1 <= _waiting_after_many_sweeps() <= MOST
    assert wake_ups.by_queue()[Queue.CPU] <= MOST


@pytest.mark.redis
def test_977_subjobs_get_few_messages_on_redis() -> None:
    skip_without_redis()
    with current_app.connection_for_write(url=REDIS) as broker, broker.channel() as channel:
        channel.queue_purge("cpu")  # type: ignore[attr-defined]
        try:
            assert 1 <= _waiting_after_many_sweeps(BROKER_URL=REDIS) <= MOST
        finally:
            channel.queue_purge("cpu")  # type: ignore[attr-defined]


@pytest.mark.nightly
def test_977_subjobs_get_few_messages_on_rabbitmq(tmp_path: Path) -> None:
    with rabbit.node(tmp_path) as url:
        assert 1 <= _waiting_after_many_sweeps(BROKER_URL=url) <= MOST


def _done(job: Job) -> bool:
    job.refresh_from_db()
    assert job.state not in {JobState.FAILED, JobState.CANCELLED}, job.error
    return job.state == JobState.DONE


def _pool_of(worker: "subprocess.Popen[bytes]") -> list[str]:
    return Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_job_longer_than_the_acknowledgement_timeout_is_done_once(tmp_path: Path) -> None:
    """The broker ends consumers that keep a message for 15 s; it looks once a minute."""
    seconds = 200.0
    with rabbit.node(tmp_path, consumer_timeout="15000") as url:
        first = jobs.enqueue(task=SLEEP, title="Long", target_queue=Queue.CPU, seconds=seconds)
        more = {"BROKER_URL": url, "DJANGO_SETTINGS_MODULE": SETTINGS, "WORKER_CONCURRENCY": "1"}
        for number in range(3):  # these wait, as messages, for as long as the long one runs
            jobs.enqueue(
                task=SLEEP, title=f"Short {number}", target_queue=Queue.CPU, seconds=0.2, queue=False
            )
        waiting = list(Job.objects.exclude(pk=first.pk))
        sent = (
            "from hits.models import Job\nfrom hits.services.jobs import wakeups\n"
            "for job in Job.objects.order_by('pk'): wakeups.wake_job(job)"
        )
        assert children.run(sent, **more).returncode == 0
        with children.workers(**more) as (_, heavy):

            def is_first_done() -> bool:
                assert heavy.poll() is None
                return _done(first)

            wait_until(is_first_done, seconds + 300, step=1)
            wait_until(lambda: all(_done(job) for job in waiting), 300, step=0.5)
            assert heavy.poll() is None
            assert str(first.result["pid"]) in _pool_of(heavy)
        assert set(Job.objects.values_list("runs", flat=True)) == {1}
        log = "".join(path.read_text() for path in (tmp_path / "log").glob("*.log"))
        assert "delivery acknowledgement" not in log


@pytest.mark.long
def test_worker_finds_jobs_without_messages_and_acknowledges_early() -> None:
    """The heavy worker alone: nobody sweeps. It looks at the rows itself, and holds no message while it works."""
    job = jobs.enqueue(task=SLEEP, title="Unheard of", target_queue=Queue.CPU, seconds=3, queue=False)
    Job.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    with children.workers(DJANGO_SETTINGS_MODULE=SETTINGS) as (light, heavy):
        os.killpg(light.pid, signal.SIGKILL)
        wait_until(lambda: _done(job), 120, step=0.2)
        assert heavy.poll() is None
