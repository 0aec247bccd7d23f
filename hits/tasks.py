"""Celery tasks: load rows by id and call a service. No logic here."""

from celery import shared_task
from django.contrib.auth import get_user_model

from hits.domain.jobs import turns
from hits.models import Batch, OutgoingCall, TopUp
from hits.mturk.boto import marketplace
from hits.services.batches import extensions, lifecycle, polling, top_up
from hits.services.collecting import assignment_sync, notifications
from hits.services.images import take_down, zip_import
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from hits.services.outbox import outbox
from hits.services.publishing import publish
from hits.services.reconciling import reconcile
from hits.services.workers import qualifications


def _get_batch(progress: Progress) -> Batch:
    return Batch.objects.select_related("project").get(pk=progress.job.args["batch"])


@jobs.job_task("hits.publish_batch")
def publish_batch(progress: Progress) -> None:
    """Publish a batch's HITs."""
    batch = _get_batch(progress)
    publish.publish_batch(batch=batch, marketplace=marketplace(), progress=progress)
    publish.reschedule_if_unpublished(batch=batch)


@jobs.job_task("hits.sync_batch")
def sync_batch(progress: Progress) -> None:
    """Copy one batch's assignments on request."""
    batch = _get_batch(progress)
    resume_point = progress.resume_point
    if "disposed" not in resume_point:
        counts = assignment_sync.sync_batch(batch=batch, marketplace=marketplace(), resume_point=resume_point)
        jobs.set_result(job=progress.job, new=counts.new, unmatched=counts.unmatched)
    lifecycle.dispose_hits_and_close_if_done(
        batch=batch, marketplace=marketplace(), after_pk=resume_point.get("disposed", 0)
    )


@jobs.job_task("hits.approve_waiting")
def approve_waiting_assignments(progress: Progress) -> None:
    """Approve many submissions at once."""
    args = progress.job.args
    done = lifecycle.approve_waiting_assignments(
        batch=_get_batch(progress),
        last_pk=args["last"],
        by=get_user_model().objects.filter(pk=args["by_id"]).first(),
        marketplace=marketplace(),
        progress=progress,
    )
    jobs.set_result(job=progress.job, approved=done.approved, outstanding=done.outstanding)


@jobs.job_task("hits.close_batch")
def close_batch(progress: Progress) -> None:
    """Stop offering a batch."""
    batch = _get_batch(progress)
    expired = lifecycle.expire_hits(batch=batch, marketplace=marketplace(), progress=progress)
    jobs.set_result(job=progress.job, expired=expired)


@jobs.job_task("hits.settle_decisions")
def settle_worker_decisions(progress: Progress) -> None:
    """Send decisions about several workers to the marketplace."""
    ids = progress.job.args["decisions"]
    settled = qualifications.settle_outstanding_decisions(
        marketplace=marketplace(), ids=ids, progress=progress
    )
    jobs.set_result(job=progress.job, settled=settled)


@jobs.job_task(zip_import.TASK)
def import_zip(progress: Progress) -> None:
    """Import the photos of a zip that was uploaded on the Photos page."""
    zip_import.import_zip(job=progress.job, progress=progress)


@shared_task(name="hits.sync_live_batches")
def sync_live_batches() -> None:
    """Copy assignments of open batches, and settle orphaned calls."""
    take_down.plan_expiries_of_taken_down_images()
    polling.poll_open_batches(marketplace=marketplace(), resume_point=turns.resume_point())


@jobs.job_task("hits.reconcile_batch")
def reconcile_batch(progress: Progress) -> None:
    """Compare one batch with the marketplace on request."""
    batch = _get_batch(progress)
    comparison = reconcile.reconcile_batch(
        batch=batch, marketplace=marketplace(), progress=progress, resume_point=progress.resume_point
    )
    result = reconcile.summarize_reconciliation(comparison)
    jobs.set_result(job=progress.job, **result | {"findings": len(result["findings"])})


@shared_task(name="hits.reconcile_batches")
def reconcile_batches() -> None:
    """Compare all open batches with the marketplace."""
    reconcile.reconcile_open_batches(marketplace=marketplace(), resume_point=turns.resume_point())


@shared_task(name="hits.sweep_jobs")
def sweep_jobs() -> None:
    """Wake waiting jobs, and record that a worker process is alive."""
    lifecycle.resume_orphaned_publications()
    jobs.sweep_jobs()


@shared_task(name="hits.process_notifications")
def process_notifications() -> None:
    """Process the marketplace's notifications."""
    notifications.process_notifications(marketplace=marketplace())


@shared_task(name="hits.forget_notifications")
def delete_old_notifications() -> None:
    """Delete old notifications."""
    notifications.delete_old_notifications()


@jobs.job_task("hits.settle_top_up")
def settle_top_up(progress: Progress) -> None:
    """Pay a batch's top-up."""
    row = TopUp.objects.select_related("batch").get(pk=progress.job.args["top_up"])
    settled = top_up.settle_top_up(top_up=row, marketplace=marketplace(), progress=progress)
    jobs.set_result(job=progress.job, paid=settled.done, refused=settled.refused)


@jobs.job_task("hits.extend_batch")
def extend_batch(progress: Progress) -> None:
    """Execute a batch's extension."""
    batch = _get_batch(progress)
    done = extensions.execute_extensions(batch=batch, marketplace=marketplace(), progress=progress)
    jobs.set_result(job=progress.job, calls_done=done)


@jobs.job_task("hits.settle_results")
def settle_uploaded_decisions(progress: Progress) -> None:
    """Send the decisions of an uploaded results file to the marketplace."""
    batch = _get_batch(progress)
    settled = outbox.settle_outstanding_calls(
        marketplace=marketplace(),
        batch=batch,
        calls=OutgoingCall.objects.filter(decision__isnull=False),
        progress=progress,
    )
    jobs.set_result(job=progress.job, done=settled.done, refused=settled.refused)
