"""Celery tasks: building a leaderboard's files, and scoring submissions."""

from curation.leaderboard.models import Leaderboard, LeaderboardEntry
from curation.leaderboard.selectors.boards import BUILD_LEADERBOARD, SCORE_ENTRY
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress, job_task


@job_task(BUILD_LEADERBOARD)
def build_leaderboard(progress: Progress) -> None:
    """Write the instances, ids and private keys of a leaderboard."""
    from curation.leaderboard import pipelines  # noqa: PLC0415 - loads numerical libraries

    rows = Leaderboard.objects.select_related("version", "project")
    board = rows.get(pk=progress.job.args["leaderboard"])
    jobs.set_result(job=progress.job, **pipelines.build_leaderboard(board, progress))


@job_task(SCORE_ENTRY)
def score_entry(progress: Progress) -> None:
    """Score a submission, or record why it cannot be scored."""
    from curation.leaderboard import pipelines  # noqa: PLC0415 - loads numerical libraries

    rows = LeaderboardEntry.objects.select_related("team__leaderboard")
    entry = rows.get(pk=progress.job.args["entry"])
    jobs.set_result(job=progress.job, **pipelines.score_submission(entry, progress))
