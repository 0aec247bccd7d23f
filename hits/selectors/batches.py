"""Read batches."""

from hits.domain.states import BatchState
from hits.models import Batch

_OPEN = [BatchState.LAUNCHING, BatchState.LIVE, BatchState.CLOSING]


def open_batches() -> list[Batch]:
    """Return the batches whose assignments may still change."""
    return list(Batch.objects.filter(state__in=_OPEN))
