"""A model server for jobs that call image generators and chat models."""

from collections.abc import Iterator

import pytest

from tests.support.generation import require_openai
from tests.support.model_server import ModelServer, run_model_server
from tests.support.nleye_jobs import forget_generators


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Return a running server that the environment names, with its key, as in a deployment."""
    require_openai()
    with run_model_server() as running:
        for purpose in ("IMAGES", "CHAT"):
            for name, value in running.environment(purpose).items():
                monkeypatch.setenv(name, value)
        forget_generators()
        yield running
        forget_generators()
