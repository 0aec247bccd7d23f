"""Create a key pair for a requester's scripts."""

import argparse
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from hits.domain.money.usd import format_dollars
from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.services.accounts import KeyPair, create_key_pair

INITIAL_FUNDS_CENTS = 1_000_000
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Command(MarketplaceCommand):
    """``create_requester NAME [--funds-cents N] [--json]``; a known NAME gets another key pair for its account."""

    help = "Create a key pair for the MTurk-compatible API. A known NAME gets another pair for its account."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument(
            "--funds-cents",
            type=int,
            help=f"cents to deposit (default: {INITIAL_FUNDS_CENTS} for a new account, otherwise none)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the key pair and print it."""
        pair = create_key_pair(
            name=options["name"],
            funds_cents=options["funds_cents"],
            initial_funds_cents=INITIAL_FUNDS_CENTS,
        )
        self.print_result(options, _key_pair_json(pair), *_result_lines(pair))


def _result_lines(pair: KeyPair) -> list[str]:
    result = _key_pair_json(pair)
    return [
        f"Requester {result['requester']}, {format_dollars(result['available_cents'])} available.",
        "Set these variables for your boto3 script:",
        f"  AWS_ENDPOINT_URL_MTURK={result['endpoint_url']}",
        f"  AWS_ACCESS_KEY_ID={result['access_key_id']}",
        f"  AWS_SECRET_ACCESS_KEY={result['secret_access_key']}",
        "  AWS_DEFAULT_REGION=us-east-1",
    ]


def endpoint_url() -> str:
    """Return PUBLIC_URL + ``/mturk/`` with an explicit port."""
    parts = urlsplit(settings.PUBLIC_URL)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return (
        f"{parts.scheme}://{host}:{parts.port or _DEFAULT_PORTS[parts.scheme]}{parts.path.rstrip('/')}/mturk/"
    )


def _key_pair_json(pair: KeyPair) -> dict[str, Any]:
    return {
        "requester": pair.requester.name,
        "access_key_id": pair.access_key_id,
        "secret_access_key": pair.secret_access_key,
        "endpoint_url": endpoint_url(),
        "available_cents": pair.requester.available_cents,
    }
