"""Lists of a project's curation jobs, without sub-jobs, which are on their job's own page."""

from django.db.models import QuerySet

from hits.domain.states import OPEN_JOB_STATES, JobState
from hits.models import Job, Project

TASK_PREFIX = "curation."


def open_jobs(project: Project) -> list[Job]:
    """Return the project's queued and running curation jobs, newest first."""
    return list(_top_level_jobs(project).filter(state__in=OPEN_JOB_STATES))


def ended_jobs(project: Project) -> "QuerySet[Job]":
    """Return the project's curation jobs that have ended, newest first."""
    return _top_level_jobs(project).exclude(state__in=OPEN_JOB_STATES)


def last_finished_job(project: Project, task: str) -> Job | None:
    """Return the newest finished job of a task."""
    return Job.objects.filter(project=project, task=task, state=JobState.DONE).order_by("-pk").first()


def _top_level_jobs(project: Project) -> "QuerySet[Job]":
    rows = Job.objects.filter(project=project, task__startswith=TASK_PREFIX, parent=None)
    return rows.select_related("created_by").order_by("-pk")
