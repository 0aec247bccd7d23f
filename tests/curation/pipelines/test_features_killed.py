"""A feature job killed in the middle of a shard resumes, and its shards equal those of an undisturbed run."""

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

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
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
IMAGES, SHARD_ROWS, PATIENCE = 80, 48, 500.0

# The real command. Its fourth batch is the first of the second shard; the next one never ends.
HANGING = """
import itertools, os, time
import django; django.setup()
from django.core.management import call_command
from curation.pipelines import features
real, batches = features._make_encode_function, itertools.count(1)
def hanging(encoder, options):
    encode = real(encoder, options)
    def once(few):
        if next(batches) > 4:
            time.sleep(3600)
        return encode(few)
    return once
features._make_encode_function = hanging
call_command("make_features", "--resume", os.environ["JOB"])
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "vectors.npy"}


def wait_for(ready: Callable[[], bool], child: subprocess.Popen[bytes]) -> None:
    def is_ready() -> bool:
        assert child.poll() is None, "it ended by itself"
        return ready()

    wait_until(is_ready, PATIENCE)


def in_the_second_shard() -> bool:
    return Job.objects.filter(
        parent__isnull=False, args__shard=1, state=JobState.RUNNING, done__gt=0
    ).exists()


def request(work: Work, clip: str) -> Job:
    options = FeatureOptions(encoder=f"clip:{clip}", shard_rows=SHARD_ROWS)
    return request_features(project=work.project, by=None, options=options, queue=False)


@pytest.mark.long
def test_job_killed_within_a_shard_resumes_to_the_same_bytes(work: Work, tmp_path: Path) -> None:
    clip = save_tiny_clip(tmp_path / "tiny")
    for seed in range(IMAGES):
        work.image(seed)
    job = request(work, clip)
    jobs.cancel_job(job=job)  # the command resumes it
    child = subprocess.Popen(
        [sys.executable, "-c", HANGING], env=children.child_environment(JOB=str(job.pk)), cwd=children.ROOT
    )
    try:
        wait_for(in_the_second_shard, child)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        status = child.wait()
    assert status == -signal.SIGKILL
    row = FeatureSet.objects.get()
    folder = features_folder(row)
    assert not row.is_complete
    assert [path.name for path in folder.glob("*.npy")] == ["shard-00000.npy"]
    first = (folder / "shard-00000.npy").stat().st_mtime_ns

    with pytest.raises(CommandError, match="a process is working on it, or was less than 30 seconds ago"):
        call_command("make_features", "--resume", str(job.pk))
    Job.objects.filter(state=JobState.RUNNING).update(lease_until=timezone.now() - timedelta(seconds=1))
    call_command("make_features", "--resume", str(job.pk), stdout=io.StringIO(), stderr=io.StringIO())
    job.refresh_from_db()
    assert job.state == JobState.DONE
    assert (folder / "shard-00000.npy").stat().st_mtime_ns == first, "a finished shard was made again"
    open_features(folder, manifest_sha256=FeatureSet.objects.get().sha256)
    resumed = contents(folder)

    FeatureSet.objects.all().delete()
    shutil.rmtree(folder)
    assert jobs.run_in_process(job=request(work, clip)).state == JobState.DONE
    assert contents(folder) == resumed
