"""Image triplets on the built-in marketplace: both orders equally often, and nobody meets a triplet twice."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.triplet_rounds import PlausibilityOptions, launch_plausibility
from hits import registry
from hits.models import Attempt, Batch, Hit, Project, Submission
from hits.mturk.boto import marketplace
from hits.services.collecting import submit
from hits.services.launching.launch_estimate import estimate_cost
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from tests.support import market
from tests.support.box_editor import agreed, task_address
from tests.support.loop import collected, page_key
from tests.support.marketplace_day import MarketplaceDay
from tests.support.nleye_stored import explain, plausibility_answer, store_triplets

BEGIN = datetime(2026, 9, 1, 8, tzinfo=UTC)
KIND, WORKERS = "triplet_plausibility", 4


def published(project: Project, count: int, by: User) -> Batch:
    """Build, explain and publish triplets, each for four workers."""
    market.fund(10_000_000)
    explain(store_triplets(project, count, by), by)
    terms = LaunchTerms(redundancy=WORKERS)
    cost = estimate_cost(kind=registry.get_kind(KIND), terms=terms, units=count)
    launch = RoundLaunch(by, "Day", replace(terms, confirmed_cents=cost.max_cents))
    batch, _ = launch_plausibility(project=project, options=PlausibilityOptions(), launch=launch)
    publish.publish_batch(batch=batch, marketplace=marketplace())
    return batch


@dataclass(frozen=True)
class Ends:
    """How the triplets of a day ended: counts of orders by triplet, and the most meetings of one worker."""

    orders: Counter[tuple[int, ...]]
    meetings: int
    attempts: int


def play(batch: Batch, seed: int) -> Ends:
    """Play a day, and read what the submissions say of the order that was shown."""
    day = MarketplaceDay(batch, seed, lambda hit: plausibility_answer("h1"))
    with time_machine.travel(BEGIN, tick=False) as clock:
        day.play(clock)
    rows = collected(batch)
    shown: dict[str, Counter[str]] = {}
    for row in rows:
        assert row.submission is not None
        order = (row.submission.shown or {})["order"]
        assert sorted(order) == ["h1", "h2"]
        shown.setdefault(row.hit.unit.payload["triplet"], Counter())[order[0]] += 1
    opened = Attempt.objects.filter(hit__unit__batch=batch).values_list("hit__unit__key", "worker")
    return Ends(
        Counter(tuple(sorted(counts.values())) for counts in shown.values()),
        max(Counter(opened).values()),
        len(opened),
    )


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_each_triplet_is_seen_twice_in_each_order(project: Project, researcher: User) -> None:
    ends = play(published(project, 10, researcher), 5)
    assert ends.orders == {(2, 2): 10}
    assert ends.meetings == 1
    assert ends.attempts > 42, "some were returned or lapsed"


@pytest.mark.nightly
@pytest.mark.django_db(transaction=True)
def test_two_hundred_triplets_are_seen_twice_in_each_order(project: Project, researcher: User) -> None:
    ends = play(published(project, 200, researcher), 5)
    print(json.dumps({"triplets": 200, "attempts": ends.attempts, "meetings": ends.meetings}))  # noqa: T201
    assert ends.orders == {(2, 2): 200}
    assert ends.meetings == 1


def _tables() -> dict[str, list[Any]]:
    """Return every row of every table."""
    with connection.cursor() as cursor:
        found = {}
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            found[table] = sorted(map(repr, cursor.fetchall()))
    return found


@pytest.mark.django_db(transaction=True)
def test_reading_a_page_leaves_every_table_as_it_was(
    project: Project, researcher: User, client: Client
) -> None:
    batch = published(project, 1, researcher)
    task = agreed(market.accept(Hit.objects.get(unit__batch=batch), market.market_worker("wilma")))
    address = task_address(task)
    key = page_key(task.hit, task.slot.assignment_id, task.worker.worker_id)
    before = _tables()
    for _ in range(2):
        assert client.get(address, HTTP_HOST=address.split("/")[2]).status_code == 200
    assert _tables() == before
    submit.open_attempt(key)
    opened = _tables()
    assert opened != before
    assert client.get(address, HTTP_HOST=address.split("/")[2]).status_code == 200
    assert _tables() == opened
    assert not Submission.objects.exists()
