"""Make a key pair for a requester's scripts."""

from __future__ import annotations

import argparse
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from hits.domain.money.usd import format_dollars
from hits.marketplace.management.base import MarketplaceCommand
from hits.marketplace.services.accounts import KeyPair, create_requester

FIRST_FUNDS_CENTS = 1_000_000
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Command(MarketplaceCommand):
    """``create_requester NAME [--funds-cents N] [--json]``: a new key pair each time, one account a name."""

    help = "Make a key pair for the MTurk-compatible API. The same NAME is the same account."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command line."""
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument(
            "--funds-cents",
            type=int,
            help=f"deposit this many cents (a new account gets {FIRST_FUNDS_CENTS} unless told otherwise)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create and print."""
        pair = create_requester(
            name=options["name"],
            funds_cents=options["funds_cents"],
            first_funds_cents=FIRST_FUNDS_CENTS,
        )
        self.emit(options, _as_dict(pair), *_explain(pair))


def _explain(pair: KeyPair) -> list[str]:
    facts = _as_dict(pair)
    return [
        f"Requester {facts['requester']}, {format_dollars(facts['available_cents'])} available.",
        "Set these for any boto3 script:",
        f"  AWS_ENDPOINT_URL_MTURK={facts['endpoint_url']}",
        f"  AWS_ACCESS_KEY_ID={facts['access_key_id']}",
        f"  AWS_SECRET_ACCESS_KEY={facts['secret_access_key']}",
        "  AWS_DEFAULT_REGION=us-east-1",
    ]


def endpoint_url() -> str:
    """Return PUBLIC_URL + ``/mturk/`` with its port spelt out."""
    parts = urlsplit(settings.PUBLIC_URL)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return (
        f"{parts.scheme}://{host}:{parts.port or _DEFAULT_PORTS[parts.scheme]}{parts.path.rstrip('/')}/mturk/"
    )


def _as_dict(pair: KeyPair) -> dict[str, Any]:
    return {
        "requester": pair.requester.name,
        "access_key_id": pair.access_key_id,
        "secret_access_key": pair.secret_access_key,
        "endpoint_url": endpoint_url(),
        "available_cents": pair.requester.available_cents,
    }
