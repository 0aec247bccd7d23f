"""Celery tasks: fetch by id, call a service. No logic here."""

import logging

from celery import shared_task

from hits.models import Batch
from hits.mturk.boto import marketplace
from hits.selectors.batches import open_batches
from hits.services import collect, jobs, publish, review

logger = logging.getLogger(__name__)


@shared_task(name="hits.publish_batch")
def publish_batch(job_id: int) -> None:
    """Publish a batch's HITs."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            batch = Batch.objects.get(pk=progress.job.args["batch"])
            publish.publish_batch(batch=batch, marketplace=marketplace(), progress=progress)


@shared_task(name="hits.sync_live_batches")
def sync_live_batches() -> None:
    """Copy assignments of open batches, and settle what an earlier process left behind."""
    port = marketplace()
    for batch in open_batches():
        if batch.environment == port.environment.name:
            collect.sync_batch(batch=batch, marketplace=port)
    review.settle_outstanding(marketplace=port)


@shared_task(name="hits.sweep_jobs")
def sweep_jobs() -> None:
    """Wake what waits, and say that a worker is alive."""
    jobs.sweep()
