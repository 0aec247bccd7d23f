"""What several tests of models and training start from."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.curation.fakes import save_tiny_clip


@pytest.fixture(scope="session")
def clip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny CLIP of random weights and its tokenizer; nobody writes in it."""
    return Path(save_tiny_clip(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let torch use one thread: sums then have the same last bits, and nobody waits for busy cores."""
    with _torch_threads(1):
        yield


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Let torch use two threads, whatever the machine and the environment allow."""
    with _torch_threads(2):
        yield


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    yield
    torch.set_num_threads(before)
