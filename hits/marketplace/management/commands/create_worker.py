"""``manage.py create_worker NAME [--country DE] [--json]``: create a worker account on the built-in marketplace."""

import argparse
import secrets
from typing import Any

from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.services.accounts import create_worker_account


class Command(MarketplaceCommand):
    """Create a worker account and print its password once."""

    help = "Create a worker account. Its password is printed once."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument(
            "--country",
            default="",
            metavar="CODE",
            help="country code, such as DE; default: the worker enters the country before the first task",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the account and print its password."""
        name, password = options["name"], secrets.token_urlsafe(12)
        worker = create_worker_account(username=name, password=password, country=options["country"].upper())
        result = {
            "username": name,
            "password": password,
            "worker_id": worker.worker_id,
            "country": worker.country,
        }
        self.print_result(options, result, f"{name} can sign in and work. Password: {password}")
