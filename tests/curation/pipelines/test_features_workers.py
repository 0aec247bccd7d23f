"""Two workers on Redis share a feature job; one is killed while it holds a shard, the other finishes the whole."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from curation.features.shards import open_features
from curation.models import FeatureSet
from curation.services.features import FeatureOptions, request_features
from hits.domain.states import JobState
from hits.models import Job
from hits.services.jobs import jobs
from tests.support import children
from tests.support.curation.fakes import save_tiny_clip
from tests.support.curation.features import features_folder
from tests.support.judging.work import Work
from tests.support.redis_server import redis_url, skip_without_redis
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.long, pytest.mark.django_db(transaction=True)]
REDIS = redis_url(9)
PROMISED_SECONDS = 60.0
IMAGES, SHARD_ROWS = 16, 2

# The worker that the platform starts. It reports which shard it holds, and writes it once it is allowed to.
WORKER = """
import os, sys, time
from pathlib import Path
from annotation_site.celery import app
import django; django.setup()
from curation.features.shards import ShardFolder
real = ShardFolder.write
def slow(self, shard, vectors):
    held = Path(os.environ["HELD"]) / str(shard)
    held.touch()
    while not Path(os.environ["ALLOWED"]).exists():
        time.sleep(0.05)
    made = real(self, shard, vectors)
    held.unlink()
    return made
ShardFolder.write = slow
app.worker_main(sys.argv[1:])
"""
FLAGS = [
    "--quiet",
    "worker",
    "--concurrency",
    "2",
    "--pool",
    "prefork",
    "--without-gossip",
    "--without-mingle",
]


@contextmanager
def worker(held: Path, allowed: Path, *flags: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a worker that leads a group of its own. It writes no shard before the file ``allowed`` is there."""
    held.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, *FLAGS, "--hostname", f"{held.name}@%h", *flags],
        env=children.child_environment(
            BROKER_URL=REDIS, HELD=str(held), ALLOWED=str(allowed), WORKER_CONCURRENCY="4"
        ),
        cwd=children.ROOT,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.timeout(400)
def test_job_of_a_killed_worker_is_finished_by_another_within_a_minute(work: Work, tmp_path: Path) -> None:
    skip_without_redis()
    clip = save_tiny_clip(tmp_path / "tiny")
    for seed in range(IMAGES):
        work.image(seed)
    options = FeatureOptions(encoder=f"clip:{clip}", shard_rows=SHARD_ROWS)
    job = request_features(project=work.project, by=None, options=options, queue=False)
    lost, kept, allowed = tmp_path / "lost", tmp_path / "kept", tmp_path / "allowed"
    # The one that stays sweeps; who runs several workers starts the beat in one that is looked after.
    with (
        worker(lost, tmp_path / "never", "--queues", "cpu") as victim,
        worker(kept, allowed, "--queues", "tick,default,mail,cpu", "--beat"),
    ):
        jobs.wake_job(job)
        wait_until(lambda: any(lost.iterdir()), 200)
        os.killpg(victim.pid, signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL
        assert any(lost.iterdir()), "it was killed before it wrote its shard"
        held = int(next(lost.iterdir()).name)
        assert Job.objects.get(parent=job, args__shard=held).state == JobState.RUNNING
        allowed.touch()

        def over() -> bool:
            job.refresh_from_db()
            return job.state in {JobState.DONE, JobState.FAILED, JobState.CANCELLED}

        seconds = wait_until(over, PROMISED_SECONDS)
    assert job.state == JobState.DONE, job.error
    print(f"finished {seconds:.1f} s after the kill")  # noqa: T201 - shown with pytest -s
    part = Job.objects.get(parent=job, args__shard=held)
    assert part.runs == 2
    row = FeatureSet.objects.get()
    assert len(open_features(features_folder(row), manifest_sha256=row.sha256)) == IMAGES
