"""Make a worker a Master, or take it away."""

from __future__ import annotations

import argparse
from typing import Any

from hits.marketplace.errors import Refused
from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.models import Clock, Worker
from hits.marketplace.services import system_types
from hits.marketplace.services.qualifications import NotHeld


class Command(MarketplaceCommand):
    """``grant_masters WORKER_ID [--revoke REASON] [--json]``."""

    help = "Give a worker the system qualification Masters, under both of its ids."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("worker_id")
        parser.add_argument("--revoke", metavar="REASON", help="take it away; the worker reads the reason")

    def handle(self, *args: Any, **options: Any) -> None:
        """Grant or revoke, and print."""
        worker = Worker.objects.filter(worker_id=options["worker_id"]).first()
        if worker is None:
            raise Refused("There is no worker with this id. Their page shows it at the top.")
        reason = options["revoke"]
        if reason is None:
            system_types.grant_masters(worker=worker, now=Clock.now())
        else:
            _revoke(worker, reason)
        state = "revoked" if reason is not None else "granted"
        self.emit(options, {"masters": state}, f"Masters {state}.")


def _revoke(worker: Worker, reason: str) -> None:
    try:
        system_types.revoke_masters(worker=worker, reason=reason, now=Clock.now())
    except NotHeld:
        raise Refused("This worker is not a Master, so there is nothing to take away.") from None
