"""Evaluate scorers, encoders, predictions and people."""

from celery import shared_task

from curation.models import Evaluation
from curation.selectors.jobs import EVALUATE
from hits.services.jobs import jobs


@shared_task(name=EVALUATE)
def evaluate(job_id: int) -> None:
    """Measure how well something scores one split of a sealed version."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines.evaluation.evaluate import run_evaluation  # noqa: PLC0415 - loads model libraries

            job = progress.job
            row = Evaluation.objects.select_related("project", "version", "scorer").get(
                pk=job.args["evaluation"]
            )
            jobs.set_result(job=job, **run_evaluation(evaluation=row, progress=progress))
