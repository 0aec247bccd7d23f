"""``manage.py review_batch ID --approve-all``."""

from argparse import ArgumentParser
from typing import Any

from hits.management.base import BatchCommand, input_error
from hits.management.lookups import find_batch
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.services.batches.lifecycle import approve_waiting_assignments
from hits.services.collecting.assignment_sync import sync_batch


class Command(BatchCommand):
    """Approve and pay all undecided confirmed submissions of a batch."""

    help = "Approve and pay the confirmed submissions of a batch."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("--approve-all", action="store_true", required=True)
        parser.add_argument("--feedback", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        """Synchronise, approve, pay."""
        batch = find_batch(options["batch"])
        port = marketplace()
        sync_batch(batch=batch, marketplace=port)
        outcome = approve_waiting_assignments(
            batch=batch, by=None, marketplace=port, feedback=options["feedback"]
        )
        sums = ledger.sum_entries(batch=batch)
        result = {
            "batch": batch.pk,
            "approved": outcome.approved,
            "paid_cents": sums.spent,
            "held_cents": sums.held,
        }
        self.report(options, result, f"{outcome.approved} approved")
        if outcome.outstanding:
            raise input_error(
                f"batch {batch.pk}: {outcome.outstanding} payments are outstanding; the batch's page shows why, and "
                "the background worker retries what it can"
            )
