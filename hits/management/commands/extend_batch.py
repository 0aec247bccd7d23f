"""``manage.py extend_batch ID --redundancy N --days D``."""

from argparse import ArgumentParser
from typing import Any

from hits.management.base import BatchCommand, RenamedOption, input_error
from hits.management.lookups import find_batch
from hits.models import Batch, Job
from hits.mturk.boto import marketplace
from hits.services.batches.extensions import execute_extensions, extend_batch
from hits.services.jobs import jobs

DAY_SECONDS = 86_400


class Command(BatchCommand):
    """Extend a live batch by workers per item, days, or both; returns after publishing."""

    help = "Extend a live batch by additional workers per item, additional days, or both."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument(
            "--redundancy",
            "--opinions",
            action=RenamedOption,
            type=int,
            default=0,
            help="additional workers per item; default 0",
        )
        parser.add_argument(
            "--days", type=int, default=0, help="additional days for each current task; default 0"
        )
        parser.add_argument(
            "--confirm-cents",
            type=int,
            metavar="N",
            help="confirm the maximum cost in cents; needed only if the command stops and asks for it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the extension and execute it."""
        batch = find_batch(options["batch"])
        for flag in ("redundancy", "days"):
            if options[flag] < 0:
                raise input_error(f"--{flag} {options[flag]}: use 0 or more")
        extension, job = extend_batch(
            batch=batch,
            more_redundancy=options["redundancy"],
            more_seconds=options["days"] * DAY_SECONDS,
            by=None,
            confirmed_cents=options["confirm_cents"],
            available_cents=marketplace().get_balance().available_cents if options["redundancy"] else None,
        )
        with jobs.leased_job(job.pk) as progress:  # a background worker may have taken it a moment ago
            if progress is not None:
                execute_extensions(batch=batch, marketplace=marketplace(), progress=progress)
        self._print_result(options, batch.pk, extension.estimate_cents, job.pk)

    def _print_result(self, options: dict[str, Any], pk: int, max_cents: int, job_id: int) -> None:
        batch, job = Batch.objects.get(pk=pk), Job.objects.get(pk=job_id)
        if job.error:
            raise input_error(
                f"batch {pk} is only partly extended: {job.error}; the batch's page shows how to continue"
            )
        result = {"batch": pk, "opinions": batch.redundancy, "most_cents": max_cents, "job": job.state}
        self.report(
            options, result, f"batch {pk}: {batch.redundancy} workers per item; the job is {job.state}"
        )
