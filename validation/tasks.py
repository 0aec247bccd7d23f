"""Celery tasks: each fetches rows by id and calls a service."""

from celery import shared_task
from django.contrib.auth import get_user_model

from hits.mturk.boto import marketplace
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress, job_task
from validation.models import QualificationRound
from validation.services import (
    applicant_decisions,
    applicants,
    decisions,
    follow_ups,
    rater_rows,
    report,
    work_reviews,
    worker_rules,
)


@shared_task(name="validation.note_applicants")
def grant_applied_qualification() -> None:
    """Record who submitted a qualification task, so that nobody takes it twice."""
    applicants.grant_applied_qualification(marketplace=marketplace())


@job_task("validation.answer_applicants")
def decide_applicants(progress: Progress) -> None:
    """Decide about a round's applicants: pay them, and qualify those who passed."""
    args = progress.job.args
    done = applicant_decisions.decide_applicants(
        qualification_round=QualificationRound.objects.select_related("batch__project").get(pk=args["round"]),
        by=get_user_model().objects.filter(pk=args["by_id"]).first(),
        marketplace=marketplace(),
        progress=progress,
    )
    jobs.set_result(
        job=progress.job, passed=done.passed, declined=done.declined, outstanding=done.outstanding
    )


@shared_task(name="validation.evaluate_rules")
def evaluate_worker_rules() -> None:
    """Evaluate the worker rules, which only propose statuses."""
    worker_rules.evaluate_rules()


@shared_task(name="validation.send_advice")
def send_advice() -> None:
    """Plan the messages with the advice of approved reviews; the outbox sends them."""
    work_reviews.plan_advice_notices()


@job_task("validation.compute_report")
def compute_judging_report(progress: Progress) -> None:
    """Compute a judging report."""
    job = progress.job
    assert job.project is not None
    made = report.compute_report(
        project=job.project, kind=job.args["kind"], by=job.created_by, progress=progress
    )
    jobs.set_result(job=job, judgments=made.judgments, sentence=made.figures["sentence"])


@job_task("validation.make_rater_rows")
def make_rater_rows(progress: Progress) -> None:
    """Write the files of per-rater rows."""
    job = progress.job
    assert job.project is not None
    made = rater_rows.write_rater_rows(project=job.project, kind=job.args["kind"], progress=progress)
    jobs.set_result(job=job, rows=made.rows, judgments=made.judgments)


@shared_task(name="validation.refresh_reports")
def refresh_judging_reports() -> None:
    """Queue a report for each kind with new judgments since the last one."""
    report.refresh_reports()


@job_task("validation.decide_items")
def decide_items(progress: Progress) -> None:
    """Decide judged items by rules, or count what each method would decide."""
    decisions.run_decision_job(progress=progress, by=progress.job.created_by)


@shared_task(name="validation.ask_one_more")
def launch_due_follow_ups() -> None:
    """Launch the follow-ups of rounds with undecided items that need no confirmation by a person."""
    follow_ups.launch_due_follow_ups(marketplace=marketplace())
