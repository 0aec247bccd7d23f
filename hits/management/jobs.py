"""Commands for long work: the same job as on the pages, run here or by a worker process."""

import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from hits.domain.states import JobState
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.progress import ProgressLines
from hits.models import Job
from hits.selectors.jobs import job_done_and_total, job_speed_label
from hits.services.errors import Conflict
from hits.services.jobs import jobs


def absolute_path(given: str) -> str:
    """Return an absolute path for a job's arguments, because the worker may run in another folder."""
    return str(Path(given).absolute()) if given else ""


def absolute_model_folder(given: str) -> str:
    """Return ``clip:<folder>``, ``hf:<folder>`` and the like with the folder's absolute path.

    A name that starts with a dot is a folder, even if it does not exist, because no hub id starts so. Other names,
    such as ``clip:<hub id>``, stay unchanged unless a folder of that name exists.
    """
    kind, colon, name = given.partition(":")
    is_folder = name.startswith(".") or (bool(name) and Path(name).is_dir())
    return f"{kind}:{absolute_path(name)}" if colon and is_folder else given


def job_facts(job: Job) -> dict[str, Any]:
    """Return the JSON of a job: its number, state and result."""
    return {"job": job.pk, "state": job.state, **job.result}


class JobCommand(DeerstalkerCommand):
    """A command that runs as a job: pages show it, Ctrl-C stops it, and ``--resume`` continues it.

    Subclasses create the job in ``create_job``; ``queue`` is false if this process runs it. ``tasks``: names of the
    Celery tasks whose jobs the command can resume.
    """

    tasks: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._progress = ProgressLines(stream=self.stderr)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the common options."""
        super().add_arguments(parser)
        parser.add_argument("--background", action="store_true", help="queue the job for a worker process")
        parser.add_argument("--resume", type=int, metavar="JOB", help="resume a cancelled or failed job")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Return the job to run."""
        raise NotImplementedError

    def can_resume_job(self, job: Job) -> bool:
        """Return whether this command can resume the job."""
        return job.task in self.tasks

    def handle(self, *args: Any, **options: Any) -> None:
        """Run or queue the job, and print its result."""
        background = options["background"]
        job = self._resume_job(options["resume"], background) or self.create_job(queue=background, **options)
        if not background:
            job = self._run(job)
        self.report_job(job, options)

    def report_job(self, job: Job, options: dict[str, Any]) -> None:
        """Print that the job is queued, or its result."""
        if options["background"]:
            self.report(options, job_facts(job), f"Job {job.pk} is queued: {job.title}")
        else:
            self.report_result(job, options)

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the result of a job that ran here."""
        result_text = ", ".join(f"{name} {value}" for name, value in job.result.items())
        self.report(options, job_facts(job), f"{job.title}: {result_text or 'done'}")

    def _resume_job(self, pk: int | None, background: bool) -> Job | None:
        if pk is None:
            return None
        job = Job.objects.filter(pk=pk).first()
        if job is None:
            raise input_error(f"--resume {pk}: there is no such job")
        if not self.can_resume_job(job):
            raise input_error(
                f"--resume {pk}: the job belongs to another command ({job.title}, {job.task}); resume it with that "
                "command"
            )
        return jobs.resume_job(job=job, queue=background)

    def _run(self, job: Job) -> Job:
        try:
            job = jobs.run_in_process(job=job, listener=self._report_progress)
        except KeyboardInterrupt as interrupt:
            with suppress(Conflict):  # a job without subjobs has ended already
                jobs.cancel_job(job=job)
            raise input_error(f"stopped; to resume: --resume {job.pk}") from interrupt
        finally:
            if sys.stderr.isatty():
                self.stderr.write("")
        if job.state != JobState.DONE:
            resume_hint = f"; to resume: --resume {job.pk}" if job.resumable else ""
            raise input_error(f"{job.title}: {job.error or job.state}{resume_hint}")
        return job

    def _report_progress(self, job: Job, line: str) -> None:
        """Write log lines and, at intervals, the progress to stderr."""
        if line:
            self.stderr.write(f"\r{line}" if sys.stderr.isatty() else line)
        elif self._progress.is_due:
            whole = Job.objects.get(pk=job.parent_id or job.pk)
            done, total = job_done_and_total(whole)
            if total:
                self._progress.advance(done, total, f"{whole.title}:", job_speed_label(whole))
