"""Seal dataset versions."""

from celery import shared_task

from curation.models import DatasetVersion
from curation.selectors.jobs import PLAN, SEAL
from curation.services import ensure_export_folder, seal_version, store_draft_summary
from hits.services.jobs import jobs


@shared_task(name=SEAL)
def seal(job_id: int) -> None:
    """Seal a version and write its files for download."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            job = progress.job
            version = DatasetVersion.objects.select_related("project").get(pk=job.args["version"])
            version = seal_version(version=version, by=job.created_by, progress=progress)
            ensure_export_folder(version=version)
            jobs.set_result(job=job, version=version.name, seal=version.manifest_sha256)


@shared_task(name=PLAN)
def plan(job_id: int) -> None:
    """Compute the content of a draft, and store it with the job."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            job = progress.job
            version = DatasetVersion.objects.select_related("project").get(pk=job.args["version"])
            store_draft_summary(job=job, version=version, progress=progress)
