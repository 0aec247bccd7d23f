"""``manage.py extend_batch ID --opinions N --days D``."""

from argparse import ArgumentParser
from typing import Any

from hits.management.base import DeerstalkerCommand, bad_input, emit_json
from hits.management.rows import batch_numbered
from hits.models import Batch, Job
from hits.mturk.boto import marketplace
from hits.services.batches.extend import carry_out, extend_batch
from hits.services.jobs import jobs

DAY_SECONDS = 86_400


class Command(DeerstalkerCommand):
    """Give a live batch more opinions for each unit, more days, or both, before returning."""

    help = "Extend a live batch by more opinions for each unit, or more days."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("batch", type=int)
        parser.add_argument("--opinions", type=int, default=0, help="more workers for each unit")
        parser.add_argument("--days", type=int, default=0, help="more days for each task that stands")
        parser.add_argument(
            "--confirm-cents", type=int, metavar="N", help="the most it can cost, when it is asked for"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Extend and carry it out."""
        batch = batch_numbered(options["batch"])
        for flag in ("opinions", "days"):
            if options[flag] < 0:
                raise bad_input(f"--{flag} {options[flag]}: use 0 or more")
        extension, job = extend_batch(
            batch=batch,
            more_opinions=options["opinions"],
            more_seconds=options["days"] * DAY_SECONDS,
            by=None,
            confirmed_cents=options["confirm_cents"],
            available_cents=marketplace().balance().available_cents if options["opinions"] else None,
        )
        with jobs.claimed(job.pk) as progress:  # a background worker may have taken it a moment ago
            if progress is not None:
                carry_out(batch=batch, marketplace=marketplace(), progress=progress)
        self._say(options, batch.pk, extension.estimate_cents, job.pk)

    def _say(self, options: dict[str, Any], pk: int, most_cents: int, job_id: int) -> None:
        batch, job = Batch.objects.get(pk=pk), Job.objects.get(pk=job_id)
        if job.error:
            raise bad_input(
                f"batch {pk} is extended in part: {job.error}; the batch's page says how to go on"
            )
        result = {"batch": pk, "opinions": batch.opinions, "most_cents": most_cents, "job": job.state}
        if options["json"]:
            emit_json(self, result)
        else:
            self.stdout.write(f"batch {pk}: {batch.opinions} opinions for each unit; the job is {job.state}")
