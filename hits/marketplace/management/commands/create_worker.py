"""``manage.py create_worker NAME [--country DE] [--json]``: an annotator's account on the built-in marketplace."""

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
        parser.add_argument(
            "--country",
            default="",
            metavar="CODE",
            help="where they work from, such as DE; without it they say so before their first task",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create and print."""
        name, password = options["name"], secrets.token_urlsafe(12)
        worker = create_worker_account(username=name, password=password, country=options["country"].upper())
        result = {
            "username": name,
            "password": password,
            "worker_id": worker.worker_id,
            "country": worker.country,
        }
        self.emit(options, result, f"{name} can sign in and work. Password: {password}")
