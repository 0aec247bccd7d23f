"""Seal dataset versions."""

from celery import shared_task

from curation.models import DatasetVersion
from curation.selectors.jobs import SEAL
from curation.services import export_folder, seal_version
from hits.services import jobs


@shared_task(name=SEAL)
def seal(job_id: int) -> None:
    """Seal a version and write its files for download."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            job = progress.job
            version = DatasetVersion.objects.select_related("project").get(pk=job.args["version"])
            version = seal_version(version=version, by=job.created_by, progress=progress)
            export_folder(version=version)
            jobs.set_result(job=job, version=version.name, seal=version.manifest_sha256)
