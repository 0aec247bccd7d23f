"""Commands for long work: the same job as on the pages, run here or handed to a worker."""

import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from hits.domain.states import JobState
from hits.management.base import DeerstalkerCommand, bad_input, emit_json
from hits.management.progress import ProgressLines
from hits.models import Job
from hits.selectors.jobs import counts, speed_of
from hits.services.errors import Conflict
from hits.services.jobs import jobs


def absolute_path(given: str) -> str:
    """Return a path as a job keeps it, since a worker, or whoever resumes it, may stand in another folder."""
    return str(Path(given).absolute()) if given else ""


def absolute_model(given: str) -> str:
    """Return ``clip:<folder>``, ``hf:<folder>`` and the like with the folder's absolute path.

    What starts with a dot is a folder, even one that is not there yet: no hub id does. Anything else is returned as
    it is, such as ``clip:<hub id>``, unless a folder of that name is there.
    """
    kind, colon, place = given.partition(":")
    is_folder = place.startswith(".") or (bool(place) and Path(place).is_dir())
    return f"{kind}:{absolute_path(place)}" if colon and is_folder else given


class JobCommand(DeerstalkerCommand):
    """A command whose work is a job: it shows in the pages, stops at Ctrl C, and ``--resume`` goes on.

    A command says what to do in ``request``; ``queue`` is false when this process runs it. ``tasks`` are the
    Celery tasks whose jobs it goes on with.
    """

    tasks: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._progress = ProgressLines(stream=self.stderr)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags that all of them share."""
        super().add_arguments(parser)
        parser.add_argument("--background", action="store_true", help="leave the work to a running worker")
        parser.add_argument("--resume", type=int, metavar="JOB", help="go on with a stopped or failed job")

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Return the job to run."""
        raise NotImplementedError

    def owns(self, job: Job) -> bool:
        """Say whether a job is of this command's kind, so that it may resume it."""
        return job.task in self.tasks

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the job, or queue it, and print what came of it."""
        background = options["background"]
        job = self._resumed(options["resume"], background) or self.request(queue=background, **options)
        if not background:
            job = self._run(job)
        self.finish(job, options)

    def finish(self, job: Job, options: dict[str, Any]) -> None:
        """Print the job's result."""
        if options["json"]:
            emit_json(self, {"job": job.pk, "state": job.state, **job.result})
        elif options["background"]:
            self.stdout.write(f"Job {job.pk} is queued: {job.title}")
        else:
            facts = ", ".join(f"{name} {value}" for name, value in job.result.items())
            self.stdout.write(f"{job.title}: {facts or 'done'}")

    def _resumed(self, pk: int | None, background: bool) -> Job | None:
        if pk is None:
            return None
        job = Job.objects.filter(pk=pk).first()
        if job is None:
            raise bad_input(f"--resume {pk}: there is no such job")
        if not self.owns(job):
            raise bad_input(
                f"--resume {pk}: that job is another command's ({job.title}, {job.task}); resume it by its own"
            )
        return jobs.resume(job=job, queue=background)

    def _run(self, job: Job) -> Job:
        try:
            job = jobs.run_here(job=job, listener=self._say)
        except KeyboardInterrupt as interrupt:
            with suppress(Conflict):  # over already, when it has no parts
                jobs.cancel(job=job)
            raise bad_input(f"stopped; to go on: --resume {job.pk}") from interrupt
        finally:
            if sys.stderr.isatty():
                self.stderr.write("")
        if job.state != JobState.DONE:
            again = f"; to go on: --resume {job.pk}" if job.resumable else ""
            raise bad_input(f"{job.title}: {job.error}{again}")
        return job

    def _say(self, job: Job, line: str) -> None:
        """Lines of the log go to stderr, and from time to time how far the work is."""
        if line:
            self.stderr.write(f"\r{line}" if sys.stderr.isatty() else line)
        elif self._progress.is_due:
            whole = Job.objects.get(pk=job.parent_id or job.pk)
            done, total = counts(whole)
            if total:
                self._progress.advance(done, total, f"{whole.title}:", speed_of(whole))
