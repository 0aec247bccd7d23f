"""Analyse texts."""

from celery import shared_task

from curation.selectors.jobs import ANALYSE_TEXTS
from hits.services.jobs import jobs


@shared_task(name=ANALYSE_TEXTS)
def analyse_texts(job_id: int) -> None:
    """Run one analysis of a project's texts."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            # Inside the claim, so that a missing library fails the job instead of leaving it queued.
            from curation.pipelines.texts import text_analysis  # noqa: PLC0415 - loads model libraries

            job = progress.job
            assert job.project is not None
            found = text_analysis.analyse_texts(
                project=job.project,
                options=text_analysis.parse_options(job.args["kind"], job.args["options"]),
                by=job.created_by,
                progress=progress,
            )
            jobs.set_result(job=job, analysis=found.pk, kind=found.kind, pairs=found.pairs)
