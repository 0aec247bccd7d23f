"""Play several pages in one world: what one of them changed is taken back before the next."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction


@contextmanager
def undone() -> Iterator[None]:
    """Take back what the block does to the database. Work that waits for a commit is never done."""
    block = transaction.atomic()
    block._from_testcase = True  # as a test's own: durable blocks may stand in it
    with block:
        yield
        transaction.set_rollback(True)
