"""De-duplicate a project's photos."""

from celery import shared_task

from curation.selectors.jobs import DEDUPLICATE
from curation.services import DedupOptions
from hits.services.jobs import jobs


@shared_task(name=DEDUPLICATE)
def deduplicate_images(job_id: int) -> None:
    """Mark a project's near-duplicates."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            # Inside the claim, so that a missing library fails the job instead of leaving it queued.
            from curation.pipelines import deduplicate  # noqa: PLC0415 - loads model libraries

            job = progress.job
            assert job.project is not None
            found = deduplicate.deduplicate_images(
                project=job.project,
                options=DedupOptions(**job.args["options"]),
                by=job.created_by,
                progress=progress,
            )
            jobs.set_result(job=job, **found.summary())
