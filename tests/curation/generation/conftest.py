"""A model server and its environment, for tests of generators and chat models."""

from collections.abc import Iterator

import pytest

from tests.support.generation import require_openai
from tests.support.model_server import KEY, ModelServer, run_model_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Return a running server, and put its key into the environment, as a deployment does."""
    require_openai()
    monkeypatch.setenv("CHAT_API_KEY", KEY)
    monkeypatch.setenv("IMAGES_API_KEY", KEY)
    with run_model_server() as running:
        yield running
