"""Read batches."""

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import Model, QuerySet

from hits.domain.states import BatchState
from hits.models import Batch

_OPEN = [BatchState.LAUNCHING, BatchState.LIVE, BatchState.CLOSING]


AT_ONCE = 200
Row = TypeVar("Row", bound=Model)


def one_by_one(rows: "QuerySet[Row]") -> Iterator[Row]:
    """Yield rows in the order of their keys, some hundreds read at a time, with no question left open between two.

    What is done about each writes. On SQLite, a connection that still reads what stood before somebody else's commit
    may not write at all: “database is locked”, at once and without waiting.
    """
    ids = list(rows.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(ids), AT_ONCE):
        yield from list(rows.filter(pk__in=ids[start : start + AT_ONCE]).order_by("pk"))


def open_batches() -> list[Batch]:
    """Return the batches whose assignments may still change."""
    return list(Batch.objects.filter(state__in=_OPEN))
