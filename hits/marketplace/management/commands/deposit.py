"""``manage.py deposit CENTS [--account NAME] [--note TEXT] [--json]``."""

import argparse
from typing import Any

from hits.domain.money.usd import format_dollars
from hits.marketplace.errors import Refused
from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.models import Requester
from hits.marketplace.services.accounts import PLATFORM_NAME, deposit


class Command(MarketplaceCommand):
    """Fund the account that this site's own batches are paid from, or another one."""

    help = "Deposit cents into a requester's account; without --account, into this site's own."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("cents", type=int)
        parser.add_argument("--account", default=PLATFORM_NAME)
        parser.add_argument("--note", default="", help="for the ledger, such as the number of a grant")

    def handle(self, *args: Any, **options: Any) -> None:
        """Deposit, and print what is available now."""
        name = options["account"]
        requester = Requester.objects.filter(name=name).first()
        if requester is None:
            known = ", ".join(Requester.objects.order_by("name").values_list("name", flat=True))
            raise Refused(f"--account {name}: there is no such account; known: {known}")
        deposit(requester=requester, cents=options["cents"], note=options["note"])
        requester.refresh_from_db()
        result = {"account": name, "available_cents": requester.available_cents}
        self.emit(options, result, f"{name}: {format_dollars(requester.available_cents)} available")
