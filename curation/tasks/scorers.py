"""Train and import scorers."""

from celery import shared_task

from curation.selectors.jobs import IMPORT_SCORER, TRAIN_SCORER
from hits.services.jobs import jobs


@shared_task(name=TRAIN_SCORER)
def train_scorer(job_id: int) -> None:
    """Train a scorer, or resume its training."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines.training import train_scorer  # noqa: PLC0415 - loads model libraries

            jobs.set_result(job=progress.job, **train_scorer.train_scorer(progress))


@shared_task(name=IMPORT_SCORER)
def import_scorer(job_id: int) -> None:
    """Import a scorer's folder."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines.training import scorer_import  # noqa: PLC0415 - loads model libraries

            jobs.set_result(job=progress.job, **scorer_import.import_scorer(progress))
