"""Redis where it answers: each file of tests has a database of its own, since files run at the same time."""

import os
import socket
from urllib.parse import urlsplit

import pytest

SERVER = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379")


def redis_url(database: int) -> str:
    """Return the address of one of its numbered databases."""
    return urlsplit(SERVER)._replace(path=f"/{database}").geturl()


def skip_without_redis() -> None:
    """Skip the test, loudly, where no Redis answers."""
    address = urlsplit(SERVER)
    host, port = address.hostname or "127.0.0.1", address.port or 6379
    with socket.socket() as probe:
        probe.settimeout(1)
        if probe.connect_ex((host, port)):
            pytest.skip(f"Redis does not answer on {host}:{port}: ITS TESTS ARE SKIPPED")
