"""The base of commands that call image generators and chat models: caps, and checks before anything is stored."""

from argparse import ArgumentParser
from typing import Any

from django.db import transaction

from curation.models import ModelRun
from curation.pipelines.triplets.recordings import write_recording
from curation.services.refusals import refuse_invalid_input
from curation.services.triplets.model_calls import MICRO_DOLLARS, cap_in_micro, raise_cap
from hits.management.base import input_error
from hits.management.jobs import JobCommand, job_facts
from hits.models import Job

COUNTS = ("images", "prompts", "refused", "failed", "unreadable", "bad_replies", "changed_meanwhile", "calls")
"""Numbers of a job's result that are worth a word."""


class ModelCallCommand(JobCommand):
    """A command whose job calls a model. ``--resume JOB --cap-usd X`` gives its run a higher cap."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._new_cap: float | None = None

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the cap."""
        super().add_arguments(parser)
        parser.add_argument(
            "--cap-usd",
            type=float,
            default=None,
            help="the most that the run may cost, in dollars; default: 0. With --resume: its new cap",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run or resume the job."""
        self._new_cap = options["cap_usd"]
        super().handle(*args, **{**options, "cap_usd": options["cap_usd"] or 0.0})

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the result, and why the run stopped before its end; write the replies if asked."""
        self.report_figures(job, options)
        if options.get("record"):
            try:
                write_recording(job.model_run, options["record"])
            except OSError as error:
                raise input_error(
                    f"--record {options['record']}: {error.strerror}; name another file"
                ) from error
        if job.result.get("stopped") and not options["json"]:
            self.stderr.write(f"stopped: {job.result['stopped']}")

    def report_figures(self, job: Job, options: dict[str, Any]) -> None:
        """Print the result of a job that ran here."""
        cost = job.result.get("committed_micro_usd", 0) / MICRO_DOLLARS
        counts = [
            f"{value} {name.replace('_', ' ')}"
            for name, value in job.result.items()
            if type(value) is int and value and name in COUNTS
        ]
        if lost := job.result.get("maybe_paid_twice"):
            counts.append(f"{len(lost)} calls may have been paid twice")
        text = ", ".join(counts) or "nothing was missing"
        self.report(options, job_facts(job), f"{job.title}: {text}; ${cost:.2f}")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Load the model if this process runs the job, so that nothing is stored if it cannot; create the job."""
        if not queue:
            with refuse_invalid_input():
                self.check_models(**options)
        return self.create_run(queue=queue, **options)

    def check_models(self, **options: Any) -> None:
        """Load what the job calls. Raises InvalidInput if it cannot be loaded."""
        raise NotImplementedError

    def create_run(self, *, queue: bool, **options: Any) -> Job:
        """Create the run and its job."""
        raise NotImplementedError

    def _resume_job(self, pk: int | None, background: bool) -> Job | None:
        with transaction.atomic():
            job = super()._resume_job(pk, background)
            if job is not None and self._new_cap is not None:
                run = ModelRun.objects.filter(job=job).first()
                if run is None:
                    raise input_error("--cap-usd: this job calls no model; leave it out")
                raise_cap(run=run, cap_micro=cap_in_micro(self._new_cap), by=None)
        return job
