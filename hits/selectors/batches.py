"""Read batches."""

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import Model, QuerySet

from hits.domain.states import BatchState
from hits.models import Batch

_OPEN_STATES = [BatchState.LAUNCHING, BatchState.LIVE, BatchState.CLOSING]


CHUNK_SIZE = 200
Row = TypeVar("Row", bound=Model)


def iterate_in_chunks(rows: "QuerySet[Row]") -> Iterator[Row]:
    """Yield rows by primary key, ``CHUNK_SIZE`` per query, with no query open between two chunks.

    Callers write per row. On SQLite, a connection with an open read from before another commit cannot write: it fails
    with “database is locked” without waiting.
    """
    ids = list(rows.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), CHUNK_SIZE):
        yield from list(rows.filter(pk__in=ids[start : start + CHUNK_SIZE]).order_by("pk"))


def list_open_batches(environment: str) -> list[Batch]:
    """Return a marketplace's batches whose assignments may still change, oldest first."""
    return list(Batch.objects.filter(state__in=_OPEN_STATES, environment=environment).order_by("pk"))
