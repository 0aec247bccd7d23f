"""Why a worker may not start a task of a batch, by our own rows."""

from hits.models import Batch, Worker
from hits.selectors.eligibility import eligibility
from hits.selectors.eligibility.limits import worker_limit_refusals


def batch_refusals(worker: Worker | None, batch: Batch) -> list[str]:
    """Return every reason why the worker may not start a task of the batch; empty means that they may."""
    return eligibility._qualification_refusals(worker, batch) + worker_limit_refusals(worker, batch)
