"""A requester's script with twenty threads: what each call of boto3 waits, over HTTP, on the configured database."""

import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import boto3
from botocore.config import Config
from django.conf import settings

from hits.domain.mturk_formats.external_question import build_external_question
from tests.benchmarks._market_site import PAGE, fill_listing, requester, served

THREADS = 20
LISTED = 200
Call = Callable[[Any], object]


def waits(*, mixed: int, created: int) -> dict[str, tuple[list[float], list[str]]]:
    """Return the seconds of each call and what failed, for calls of all kinds mixed and for HITs made at once."""
    with served(workers=0, hits=0):
        listed = _client(fill_listing(LISTED))
        pair = requester()
        clients = [_client(pair) for _ in range(THREADS)]
        made = clients[0].create_hit_type(
            Title="Look", Description="Look", Reward="0.01", AssignmentDurationInSeconds=600
        )
        create = _create(made["HITTypeId"])
        hits = [create(clients[0])["HIT"]["HITId"] for _ in range(THREADS)]  # type: ignore[index]
        draw = random.Random(8)
        calls = [draw.choice(_kinds(draw.choice(hits), create, listed)) for _ in range(mixed)]
        return {"mixed": _at_once(clients, calls), "create_hit": _at_once(clients, [create] * created)}


def _client(pair: Any) -> Any:
    return boto3.client(
        "mturk",
        region_name="us-east-1",
        endpoint_url=f"{settings.PUBLIC_URL}/mturk/",
        aws_access_key_id=pair.access_key_id,
        aws_secret_access_key=pair.secret_access_key,
        # Nothing is repeated, so that each wait is seen.
        config=Config(retries={"total_max_attempts": 1}, read_timeout=60, max_pool_connections=THREADS),
    )


def _create(hit_type: str) -> Call:
    return lambda client: client.create_hit_with_hit_type(
        HITTypeId=hit_type, LifetimeInSeconds=3600, MaxAssignments=1, Question=build_external_question(PAGE)
    )


def _kinds(hit_id: str, create: Call, listed: Any) -> Sequence[Call]:
    """Return the calls that a script mixes; half of them write."""
    return [
        lambda client: client.get_account_balance(),
        lambda client: client.get_hit(HITId=hit_id),
        lambda client: client.list_assignments_for_hit(HITId=hit_id),
        lambda client: listed.list_hits(MaxResults=100),
        create,
        create,
        lambda client: client.create_qualification_type(
            Name=uuid.uuid4().hex, Description="Made by a script", QualificationTypeStatus="Active"
        ),
    ]


def _at_once(clients: Sequence[Any], calls: Sequence[Call]) -> tuple[list[float], list[str]]:
    seconds: list[float] = []
    errors: list[str] = []
    waiting = list(calls)

    def work(client: Any) -> None:
        while waiting:
            try:
                call = waiting.pop()
            except IndexError:
                return
            started = time.perf_counter()
            try:
                call(client)
            except Exception as error:  # every failure is a figure
                errors.append(f"{type(error).__name__}: {error}")
            seconds.append(time.perf_counter() - started)

    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seconds, errors
