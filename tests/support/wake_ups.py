"""The messages that lie in the queue on disk."""

from collections import Counter
from pathlib import Path

from django.conf import settings


def folder() -> Path:
    """Return where they lie."""
    return Path(settings.VAR_DIR) / "queue" / "messages"


def forget() -> None:
    """Remove those that earlier tests left."""
    for message in folder().glob("*.msg"):
        message.unlink(missing_ok=True)


def by_queue() -> "Counter[str]":
    """Return how many wait in each queue."""
    return Counter(path.name.split(".")[1] for path in folder().glob("*.msg"))
