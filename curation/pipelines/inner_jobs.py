"""Run another job to its end within a running job, such as an evaluation within ablations."""

from hits.domain.states import STOPPED_JOB_STATES, JobState
from hits.models import Job
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress


def run_inner_job(progress: Progress, job: Job) -> None:
    """Run a job in this process, resuming it if it was stopped; the outer job's heartbeat continues.

    Raises:
        Refused: it failed. Cancelled: the outer job or this one was cancelled.
    """
    outer = progress.job

    def on_progress(inner: Job, line: str) -> None:
        # Only on steps, not on log lines: raising on a log line would leave the inner job unfinished. The outer
        # job's own steps arrive here too.
        if not line and inner.pk != outer.pk:
            progress.advance(outer.done)

    started = jobs.resume_job(job=job, queue=False) if job.state in STOPPED_JOB_STATES else job
    ended = jobs.run_in_process(job=started, listener=on_progress)
    if ended.state == JobState.DONE:
        return
    progress.advance(outer.done)
    raise Refused(f"{ended.title}: {ended.error or ended.state}")
