"""``manage.py create_worker NAME [--json]``: an annotator's account on the built-in marketplace."""

import argparse
import secrets
from typing import Any

from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.services.accounts import create_worker_account


class Command(MarketplaceCommand):
    """Make an account for somebody who works on tasks, and print its password once."""

    help = "Make an annotator's account. Its password is printed once."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create and print."""
        name, password = options["name"], secrets.token_urlsafe(12)
        worker = create_worker_account(username=name, password=password)
        result = {"username": name, "password": password, "worker_id": worker.worker_id}
        self.emit(options, result, f"{name} can sign in and work. Password: {password}")
