"""``manage.py deposit CENTS [--account NAME] [--note TEXT] [--json]``."""

import argparse
from typing import Any

from hits.domain.money.usd import format_dollars
from hits.marketplace.errors import ActionRefused
from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.models import Requester
from hits.marketplace.services.accounts import PLATFORM_NAME, deposit


class Command(MarketplaceCommand):
    """Fund the account that pays this site's own batches, or another one."""

    help = "Deposit cents into a requester's account (default: this site's own account)."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("cents", type=int)
        parser.add_argument("--account", default=PLATFORM_NAME)
        parser.add_argument("--note", default="", help="note for the ledger, such as a grant number")

    def handle(self, *args: Any, **options: Any) -> None:
        """Deposit, and print the available balance."""
        name = options["account"]
        requester = Requester.objects.filter(name=name).first()
        if requester is None:
            known = ", ".join(Requester.objects.order_by("name").values_list("name", flat=True))
            raise ActionRefused(f"--account {name}: there is no such account. Known accounts: {known}")
        deposit(requester=requester, cents=options["cents"], note=options["note"])
        requester.refresh_from_db()
        result = {"account": name, "available_cents": requester.available_cents}
        self.print_result(options, result, f"{name}: {format_dollars(requester.available_cents)} available")
