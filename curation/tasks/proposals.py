"""Propose boxes in a project's photos, and measure how well they cover the accepted pairs."""

from celery import shared_task

from curation.models import ProposalRun
from curation.selectors.jobs import OVERLAPS, PROPOSALS, PROPOSALS_SUBJOB
from hits.services.jobs import jobs


@shared_task(name=PROPOSALS)
def propose_boxes(job_id: int) -> None:
    """Fill a run with boxes, from a file or by a detector's sub-jobs, and measure it."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines import proposals  # noqa: PLC0415 - loads model libraries

            job = progress.job
            run = ProposalRun.objects.select_related("project").get(pk=job.args["run"])
            recall = proposals.fill_run(run=run, last=job.args["last"], progress=progress)
            jobs.set_result(job=job, **proposals.summarise_run(run, recall))


@shared_task(name=PROPOSALS_SUBJOB)
def propose_subjob_boxes(job_id: int) -> None:
    """Find the boxes of one sub-job's photos."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines import proposals  # noqa: PLC0415 - loads model libraries

            args = progress.job.args
            run = ProposalRun.objects.select_related("project").get(pk=args["run"])
            proposals.fill_subjob(run=run, first=args["first"], last=args["last"], progress=progress)


@shared_task(name=OVERLAPS)
def measure_proposals(job_id: int) -> None:
    """Compare a run with the currently accepted pairs."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines import proposals  # noqa: PLC0415 - loads model libraries

            job = progress.job
            run = ProposalRun.objects.select_related("project").get(pk=job.args["run"])
            recall = proposals.measure_run(run=run, progress=progress)
            jobs.set_result(job=job, **proposals.summarise_run(run, recall))
