"""Celery tasks: fetch by id, call a service. No logic here."""

from celery import shared_task
from django.contrib.auth import get_user_model

from hits.mturk.boto import marketplace
from hits.services import jobs
from validation.models import QualificationRound
from validation.services import answering, applicants, rules


@shared_task(name="validation.note_applicants")
def note_applicants() -> None:
    """Note who handed in a qualification task, so that nobody takes it twice."""
    applicants.note_applicants(marketplace=marketplace())


@shared_task(name="validation.answer_applicants")
def answer_applicants(job_id: int) -> None:
    """Answer, pay and qualify a round's applicants."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            args = progress.job.args
            done = answering.answer_applicants(
                found=QualificationRound.objects.select_related("batch__project").get(pk=args["round"]),
                by=get_user_model().objects.filter(pk=args["by_id"]).first(),
                marketplace=marketplace(),
                progress=progress,
            )
            jobs.set_result(
                job=progress.job, passed=done.passed, declined=done.declined, outstanding=done.outstanding
            )


@shared_task(name="validation.evaluate_rules")
def evaluate_rules() -> None:
    """Let the standing rules look; they only propose."""
    rules.evaluate_all()
