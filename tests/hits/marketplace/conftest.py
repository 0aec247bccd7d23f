"""Fixtures: a marketplace with a funded requester and workers, reached by unmodified boto3 in two ways."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from hits.marketplace.models import Worker
from hits.marketplace.services import accounts
from tests.hits.marketplace.mailbox import Mailbox
from tests.hits.marketplace.support import FUNDS, Market


@pytest.fixture(params=["in process", "http"])
def market(request: pytest.FixtureRequest, transactional_db: None) -> Market:
    """The same tests run in process and over a real socket."""
    if request.param == "http":
        return Market(request.getfixturevalue("live_server").url + "/mturk/", in_process=False)
    return Market("http://localhost:8000/mturk/", in_process=True)


@pytest.fixture
def local_market(transactional_db: None) -> Market:
    """In process only, for tests in which the way does not matter."""
    return Market("http://localhost:8000/mturk/", in_process=True)


@pytest.fixture
def requester(transactional_db: None) -> accounts.KeyPair:
    """A requester with $10,000."""
    return accounts.create_key_pair(name="Abduction lab", funds_cents=FUNDS)


@pytest.fixture
def mturk(market: Market, requester: accounts.KeyPair) -> Any:
    """The requester's boto3 client."""
    return market.client(requester)


@pytest.fixture
def local_client(local_market: Market, requester: accounts.KeyPair) -> Any:
    """The requester's boto3 client, in process."""
    return local_market.client(requester)


@pytest.fixture
def workers(transactional_db: None) -> list[Worker]:
    """Three people who may work."""
    return [
        accounts.create_worker_account(username=f"worker{n}", password="quiet-harbour-17") for n in range(3)
    ]


@pytest.fixture
def worker(workers: list[Worker]) -> Worker:
    """The first of them."""
    return workers[0]


@pytest.fixture
def other(workers: list[Worker]) -> Worker:
    """The second."""
    return workers[1]


@pytest.fixture
def browser() -> Callable[[Worker], Client]:
    """Return a signed-in browser for a worker."""

    def sign_in(person: Worker) -> Client:
        client = Client()
        client.force_login(person.user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return sign_in


@pytest.fixture
def amazon_fees(settings: Any) -> None:
    """Amazon's fee schedule instead of the local 0 %."""
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"


@pytest.fixture
def mailbox(settings: Any) -> Iterator[Mailbox]:
    """A receiver whose host is allowed."""
    box = Mailbox()
    settings.MARKETPLACE_NOTIFICATION_HOSTS = [box.host]
    yield box
    box.server.shutdown()
    box.server.server_close()
