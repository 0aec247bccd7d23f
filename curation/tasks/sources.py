"""Import collections, and find images shared between splits."""

from celery import shared_task

from curation.selectors.jobs import IMPORT_SOURCE, LEAKAGE
from curation.services.leakage import LeakageOptions
from curation.services.sources import import_source, options_from_json, spec_from_json
from hits.services.jobs import jobs


@shared_task(name=IMPORT_SOURCE)
def import_collection(job_id: int) -> None:
    """Import a published collection."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            job = progress.job
            assert job.project is not None
            found = import_source(
                project=job.project,
                spec=spec_from_json(job.args["source"], job.args["wanted"]),
                options=options_from_json(job.args["options"]),
                by=job.created_by,
                progress=progress,
            )
            jobs.set_result(job=job, **found)


@shared_task(name=LEAKAGE)
def check_leakage(job_id: int) -> None:
    """Find near-identical images in different splits."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines import leakage  # noqa: PLC0415 - loads model libraries

            job = progress.job
            assert job.project is not None
            found = leakage.check_leakage(
                project=job.project,
                options=LeakageOptions(**job.args["options"]),
                by=job.created_by,
                progress=progress,
            )
            jobs.set_result(job=job, **found)
