"""A disk that takes no more, where mounting a small one is not permitted."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse to bring files to the disk for the block: what a file system with delayed allocation does when full."""

    def refuse(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as changed:
        changed.setattr(os, "fsync", refuse)
        yield
