"""``manage.py review_batch ID --approve-all``."""

from argparse import ArgumentParser
from typing import Any

from hits.domain.states import AssignmentStatus, Match, Verdict
from hits.management.base import DeerstalkerCommand, bad_input, emit_json
from hits.management.rows import batch_numbered
from hits.models import Assignment
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.services.collect import sync_batch
from hits.services.errors import Conflict, Refused
from hits.services.review import decide, settle


class Command(DeerstalkerCommand):
    """Approve and pay every confirmed submission of a batch that waits for a decision."""

    help = "Approve and pay the confirmed submissions of a batch."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("batch", type=int)
        parser.add_argument("--approve-all", action="store_true", required=True)
        parser.add_argument("--feedback", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        """Synchronise, approve, pay."""
        batch = batch_numbered(options["batch"])
        port = marketplace()
        sync_batch(batch=batch, marketplace=port)
        waiting = Assignment.objects.filter(
            hit__unit__batch=batch, status=AssignmentStatus.SUBMITTED, match=Match.MATCHED, decisions=None
        ).select_related("hit__unit__batch__project", "worker", "submission")
        approved = 0
        for assignment in waiting:
            try:
                decision = decide(
                    assignment=assignment, verdict=Verdict.APPROVE, by=None, feedback=options["feedback"]
                )
                settle(decision=decision, marketplace=port)
            except Conflict:
                continue  # somebody in the browser was quicker
            except Refused as error:
                raise bad_input(str(error)) from error
            approved += 1
        sums = ledger.totals(batch=batch)
        result = {"batch": batch.pk, "approved": approved, "paid_cents": sums.spent, "held_cents": sums.held}
        if options["json"]:
            emit_json(self, result)
        else:
            self.stdout.write(f"{approved} approved")
