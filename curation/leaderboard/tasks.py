"""Celery tasks: building a leaderboard's files, and scoring submissions."""

from celery import shared_task

from curation.leaderboard.models import Leaderboard, LeaderboardEntry
from curation.leaderboard.selectors.boards import BUILD_LEADERBOARD, SCORE_ENTRY
from hits.services.jobs import jobs


@shared_task(name=BUILD_LEADERBOARD)
def build_leaderboard(job_id: int) -> None:
    """Write the instances, ids and private keys of a leaderboard."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.leaderboard import pipelines  # noqa: PLC0415 - loads numerical libraries

            rows = Leaderboard.objects.select_related("version", "project")
            board = rows.get(pk=progress.job.args["leaderboard"])
            jobs.set_result(job=progress.job, **pipelines.build_leaderboard(board, progress))


@shared_task(name=SCORE_ENTRY)
def score_entry(job_id: int) -> None:
    """Score a submission, or record why it cannot be scored."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.leaderboard import pipelines  # noqa: PLC0415 - loads numerical libraries

            rows = LeaderboardEntry.objects.select_related("team__leaderboard")
            entry = rows.get(pk=progress.job.args["entry"])
            jobs.set_result(job=progress.job, **pipelines.score_submission(entry, progress))
