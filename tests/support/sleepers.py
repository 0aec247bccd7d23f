"""Tasks that take as long as they are told, for real workers in tests."""

import os
import time

from celery import shared_task

from hits.services.jobs import jobs

SLEEP = "tests.sleep"


@shared_task(name=SLEEP)
def sleep(job_id: int) -> None:
    """Sleep for the seconds that the job asks for, and say which process did."""
    with jobs.leased_job(job_id) as progress:
        if progress is not None:
            ends = time.monotonic() + progress.job.args["seconds"]
            while time.monotonic() < ends:
                time.sleep(0.1)
                progress.advance(1, 2)
            pids = [*progress.job.args.get("pids", []), os.getpid()]
            jobs.set_result(job=progress.job, pid=os.getpid(), times=len(pids))
