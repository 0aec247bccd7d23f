"""Build comparison rounds."""

from celery import shared_task

from curation.selectors import rounds
from curation.selectors.jobs import COMPARISON_ROUND
from curation.services import RoundOptions
from hits.services.jobs import jobs


@shared_task(name=COMPARISON_ROUND)
def build_comparison_round(job_id: int) -> None:
    """Build a comparison round."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines import comparison  # noqa: PLC0415 - loads model libraries

            job = progress.job
            assert job.project is not None
            found = rounds.job_round(job) or comparison.build_comparison_round(
                project=job.project,
                options=RoundOptions(**job.args["options"]),
                encoder=job.args.get("encoder", ""),
                by=job.created_by,
                progress=progress,
                job=job,
            )
            jobs.set_result(job=job, round=found.pk, sets=found.sets.count(), skipped=found.skip_counts)
