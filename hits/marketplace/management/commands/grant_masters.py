"""Grant a worker the Masters qualification, or revoke it."""

import argparse
from typing import Any

from hits.marketplace.errors import ActionRefused
from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.models import Clock, Worker
from hits.marketplace.services import system_qualifications
from hits.marketplace.services.qualifications import QualificationNotHeld


class Command(MarketplaceCommand):
    """``grant_masters WORKER_ID [--revoke REASON] [--json]``."""

    help = "Grant a worker the system qualification Masters, under both of its ids."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("worker_id")
        parser.add_argument(
            "--revoke", metavar="REASON", help="revoke the qualification; the worker reads the reason"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Grant or revoke the qualification, and print the result."""
        worker = Worker.objects.filter(worker_id=options["worker_id"]).first()
        if worker is None:
            raise ActionRefused("There is no worker with this id. The worker's page shows the id at the top.")
        reason = options["revoke"]
        if reason is None:
            system_qualifications.grant_masters(worker=worker, now=Clock.now())
        else:
            _revoke_masters(worker, reason)
        state = "revoked" if reason is not None else "granted"
        self.print_result(options, {"masters": state}, f"Masters {state}.")


def _revoke_masters(worker: Worker, reason: str) -> None:
    try:
        system_qualifications.revoke_masters(worker=worker, reason=reason, now=Clock.now())
    except QualificationNotHeld:
        raise ActionRefused("This worker is not a Master, so there is nothing to revoke.") from None
