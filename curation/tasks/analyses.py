"""Make rows of the paper's tables, look for shortcuts, and analyse errors."""

from celery import shared_task

from curation.selectors.jobs import ABLATIONS, ERROR_ANALYSIS, SHORTCUTS
from hits.services.jobs import jobs


@shared_task(name=ABLATIONS)
def run_ablations(job_id: int) -> None:
    """Make the rows that a job names."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            # Inside the claim, so that a missing library fails the job instead of leaving it queued.
            from curation.pipelines import ablations  # noqa: PLC0415 - loads model libraries

            jobs.set_result(job=progress.job, **ablations.run_ablations(progress))


@shared_task(name=SHORTCUTS)
def audit_shortcuts(job_id: int) -> None:
    """Measure baselines without the image."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines import shortcuts  # noqa: PLC0415 - loads model libraries

            jobs.set_result(job=progress.job, **shortcuts.audit_shortcuts(progress))


@shared_task(name=ERROR_ANALYSIS)
def analyse_errors(job_id: int) -> None:
    """Analyse an evaluation's errors."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines.evaluation import error_analysis  # noqa: PLC0415 - loads model libraries

            jobs.set_result(job=progress.job, **error_analysis.analyse_errors(progress))
