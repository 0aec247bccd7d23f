"""Read comparison rounds."""

from curation.models import ComparisonRound
from hits.domain.states import AssignmentStatus
from hits.models import Job, Project
from validation.selectors.judging import judged_completely

ANNOTATORS = 2  # ratings per candidate that the leaderboard's measures take


def rounds(project: Project) -> list[ComparisonRound]:
    """Return the project's comparison rounds, newest first."""
    return list(ComparisonRound.objects.filter(project=project).select_related("batch"))


def built_by(job: Job) -> ComparisonRound | None:
    """Return the round that a job built, if it did."""
    return ComparisonRound.objects.filter(job=job).first()


def newest_judged_round(project: Project) -> ComparisonRound | None:
    """Return the newest round whose launched sets all have their approved judgments, two at least."""
    for found in rounds(project):
        batch = found.batch
        if batch is None or batch.opinions < ANNOTATORS:
            continue
        if judged_completely(batch=batch, statuses=(AssignmentStatus.APPROVED,)):
            return found
    return None
