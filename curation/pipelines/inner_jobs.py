"""Run another job to its end within one that is under way, such as an evaluation within ablations."""

from hits.domain.states import STOPPED_JOB_STATES, JobState
from hits.models import Job
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress


def run_inner_job(progress: Progress, job: Job) -> None:
    """Run a job here, from where it stopped if it did; the outer job's heartbeat goes on meanwhile.

    Raises:
        Refused: it failed. Cancelled: somebody asked for the outer job, or for that one, to stop.
    """
    outer = progress.job

    def on_progress(inner: Job, line: str) -> None:
        # A step, not a line of its log: raising there would leave that job without an end. And the outer job's own
        # steps are told here too.
        if not line and inner.pk != outer.pk:
            progress.advance(outer.done)

    started = jobs.resume_job(job=job, queue=False) if job.state in STOPPED_JOB_STATES else job
    ended = jobs.run_in_process(job=started, listener=on_progress)
    if ended.state == JobState.DONE:
        return
    progress.advance(outer.done)
    raise Refused(f"{ended.title}: {ended.error or ended.state}")
