"""Helpers of the marketplace tests: clients, parameters, and a worker's actions."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import boto3
from botocore.config import Config

from hits.domain.mturk_formats.external_question import build_external_question
from hits.marketplace import transport
from hits.marketplace.models import Assignment, Clock, HITType, Worker
from hits.marketplace.selectors.worker import find_latest_attempt
from hits.marketplace.services import accounts, attempts
from tests.support.marketplace_clock import advance_clock

SESSION = boto3.session.Session(region_name="us-east-1")
FUNDS = 10_000_00
PAGE = "https://example.org/task?unit=7&kind=boxes"


@dataclass
class Market:
    """One way of reaching the marketplace: makes clients and keeps their endpoint."""

    endpoint: str
    in_process: bool

    def client(self, pair: accounts.KeyPair, *, secret: str | None = None, retries: int = 0) -> Any:
        """Return an unmodified boto3 client."""
        client = SESSION.client(
            "mturk",
            endpoint_url=self.endpoint,
            aws_access_key_id=pair.access_key_id,
            aws_secret_access_key=secret or pair.secret_access_key,
            config=Config(retries={"max_attempts": retries}),
        )
        if self.in_process:
            transport.attach_transport(client)
        return client


def hit_params(**changes: Any) -> dict[str, Any]:
    """Return good parameters for CreateHIT, with changes."""
    return {
        "Title": "Write observations about one photo",
        "Description": "Draw boxes and say what they hint at.",
        "Keywords": "photo, boxes",
        "Reward": "1.10",
        "LifetimeInSeconds": 3600,
        "AssignmentDurationInSeconds": 1800,
        "AutoApprovalDelayInSeconds": 86_400,
        "MaxAssignments": 2,
        "Question": build_external_question(PAGE, 800),
        **changes,
    }


def accept(person: Worker, hit: dict[str, Any]) -> Assignment:
    """Let a worker take a task of the HIT's group."""
    hit_type = HITType.objects.get(hit_type_id=hit["HITTypeId"])
    return attempts.accept_or_resume_from_group(worker=person, hit_type=hit_type, now=Clock.now())


def secret_of(person: Worker, slot: Assignment) -> str:
    """Return the secret of the worker's latest attempt."""
    attempt = find_latest_attempt(person, slot.assignment_id)
    assert attempt is not None
    return attempts.attempt_secret(attempt)


def submit_task(person: Worker, slot: Assignment, **fields: str) -> Assignment:
    """Submit through the attempt's own address."""
    pairs = list((fields or {"submission_id": "7", "sha256": "ab" * 32}).items())
    receipt = attempts.submit_with_secret(
        secret=secret_of(person, slot), assignment_id=slot.assignment_id, fields=pairs, now=Clock.now()
    )
    return receipt.assignment


def work(person: Worker, hit: dict[str, Any], **fields: str) -> Assignment:
    """Accept and submit."""
    return submit_task(person, accept(person, hit), **fields)


def advance_time(**by: float) -> None:
    """Move the marketplace's clock on."""
    advance_clock(by=timedelta(**by))
