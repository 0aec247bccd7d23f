"""Celery tasks: fetch by id, call a service. No logic here."""

from celery import shared_task
from django.contrib.auth import get_user_model

from hits.domain.jobs import turns
from hits.models import Batch, OutgoingCall, TopUp
from hits.mturk.boto import marketplace
from hits.services.batches import extend, lifecycle, polling, top_up
from hits.services.collecting import collect, notifications
from hits.services.images import take_down, zip_import
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.outbox import outbox
from hits.services.publishing import publish
from hits.services.reconciling import reconcile
from hits.services.workers import qualifications


def _batch_of(progress: Progress) -> Batch:
    return Batch.objects.select_related("project").get(pk=progress.job.args["batch"])


@shared_task(name="hits.publish_batch")
def publish_batch(job_id: int) -> None:
    """Publish a batch's HITs."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            batch = _batch_of(progress)
            publish.publish_batch(batch=batch, marketplace=marketplace(), progress=progress)
            publish.come_again_if_unpublished(batch=batch)


@shared_task(name="hits.sync_batch")
def sync_batch(job_id: int) -> None:
    """Copy one batch's assignments now, because somebody asked for it."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            batch = _batch_of(progress)
            place = progress.place
            if "disposed" not in place:
                found = collect.sync_batch(batch=batch, marketplace=marketplace(), place=place)
                jobs.set_result(job=progress.job, new=found.new, unmatched=found.unmatched)
            lifecycle.finish_closing(batch=batch, marketplace=marketplace(), after=place.get("disposed", 0))


@shared_task(name="hits.approve_waiting")
def approve_waiting(job_id: int) -> None:
    """Approve many submissions at once."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            args = progress.job.args
            done = lifecycle.approve_waiting(
                batch=_batch_of(progress),
                last=args["last"],
                by=get_user_model().objects.filter(pk=args["by_id"]).first(),
                marketplace=marketplace(),
                progress=progress,
            )
            jobs.set_result(job=progress.job, approved=done.approved, outstanding=done.outstanding)


@shared_task(name="hits.close_batch")
def close_batch(job_id: int) -> None:
    """Stop offering a batch."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            batch = _batch_of(progress)
            expired = lifecycle.expire_hits(batch=batch, marketplace=marketplace(), progress=progress)
            jobs.set_result(job=progress.job, expired=expired)


@shared_task(name="hits.settle_decisions")
def settle_decisions(job_id: int) -> None:
    """Carry decisions about many workers to the marketplace."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            ids = progress.job.args["decisions"]
            settled = qualifications.settle_outstanding(marketplace=marketplace(), ids=ids, progress=progress)
            jobs.set_result(job=progress.job, settled=settled)


@shared_task(name=zip_import.TASK)
def import_zip(job_id: int) -> None:
    """Take in the photos of a zip that was sent to the Photos page."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            zip_import.import_zip(job=progress.job, progress=progress)


@shared_task(name="hits.sync_live_batches")
def sync_live_batches() -> None:
    """Copy assignments of open batches, and settle what an earlier process left behind."""
    take_down.plan_late_expiries()
    polling.look_at_open(marketplace=marketplace(), place=turns.place())


@shared_task(name="hits.reconcile_batch")
def reconcile_batch(job_id: int) -> None:
    """Compare one batch with the marketplace now, because somebody asked for it."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            batch = _batch_of(progress)
            found = reconcile.reconcile_batch(
                batch=batch, marketplace=marketplace(), progress=progress, place=progress.place
            )
            result = reconcile.summary(found)
            jobs.set_result(job=progress.job, **result | {"findings": len(result["findings"])})


@shared_task(name="hits.reconcile_batches")
def reconcile_batches() -> None:
    """Compare all open batches with the marketplace."""
    reconcile.reconcile_open(marketplace=marketplace(), place=turns.place())


@shared_task(name="hits.sweep_jobs")
def sweep_jobs() -> None:
    """Wake what waits, and say that a worker is alive."""
    lifecycle.take_up_publications()
    jobs.sweep()


@shared_task(name="hits.process_notifications")
def process_notifications() -> None:
    """Look at what the marketplace told us."""
    notifications.process_waiting(marketplace=marketplace())


@shared_task(name="hits.forget_notifications")
def forget_notifications() -> None:
    """Delete what the marketplace told us long ago."""
    notifications.forget_old()


@shared_task(name="hits.settle_top_up")
def settle_top_up(job_id: int) -> None:
    """Pay a batch's top-up."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            row = TopUp.objects.select_related("batch").get(pk=progress.job.args["top_up"])
            settled = top_up.settle_top_up(top_up=row, marketplace=marketplace(), progress=progress)
            jobs.set_result(job=progress.job, paid=settled.done, refused=settled.refused)


@shared_task(name="hits.extend_batch")
def extend_batch(job_id: int) -> None:
    """Carry out a batch's extension."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            batch = _batch_of(progress)
            done = extend.carry_out(batch=batch, marketplace=marketplace(), progress=progress)
            jobs.set_result(job=progress.job, calls_done=done)


@shared_task(name="hits.settle_results")
def settle_results(job_id: int) -> None:
    """Carry the decisions of an uploaded results file to the marketplace."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            batch = _batch_of(progress)
            settled = outbox.settle_outstanding(
                marketplace=marketplace(),
                batch=batch,
                calls=OutgoingCall.objects.filter(decision__isnull=False),
                progress=progress,
            )
            jobs.set_result(job=progress.job, done=settled.done, refused=settled.refused)
