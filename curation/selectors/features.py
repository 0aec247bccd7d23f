"""Queries on feature sets and their disk usage."""

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from curation.models import FeatureSet
from curation.selectors.jobs import FEATURES
from hits.domain.states import OPEN_JOB_STATES
from hits.models import Job, Project
from hits.selectors.jobs import can_resume


@dataclass(frozen=True, slots=True)
class StoredFeatureSet:
    """A feature set, its size in bytes, and the job that makes or can resume it, if any."""

    row: FeatureSet
    bytes: int
    open_job: Job | None
    resumable_job: Job | None

    @property
    def state(self) -> str:
        """``complete``, ``making``, ``stopped``, or ``lost`` if its files are missing."""
        if self.open_job is not None:
            return "making"
        if not self.row.is_complete:
            return "stopped"
        return "complete" if self.bytes else "lost"


def feature_sets(project: Project) -> list[StoredFeatureSet]:
    """Return the project's feature sets, newest first."""
    newest: dict[int, Job] = {}
    for job in Job.objects.filter(project=project, task=FEATURES).order_by("pk"):
        if "feature_set" in job.result:
            newest[job.result["feature_set"]] = job
    return [_stored_set(row, newest.get(row.pk)) for row in FeatureSet.objects.filter(project=project)]


def used_encoders(project: Project) -> list[str]:
    """Return the names of the encoders that this project's jobs have used, in alphabetical order."""
    jobs = Job.objects.filter(project=project, task=FEATURES)
    asked = jobs.values_list("args__options__encoder", flat=True)
    return sorted({name for name in asked if name})


def _stored_set(row: FeatureSet, job: Job | None) -> StoredFeatureSet:
    return StoredFeatureSet(
        row=row,
        bytes=_folder_size(Path(settings.MEDIA_ROOT) / row.path),
        open_job=job if job is not None and job.state in OPEN_JOB_STATES else None,
        resumable_job=job if job is not None and can_resume(job) else None,
    )


def _folder_size(folder: Path) -> int:
    if not folder.is_dir():
        return 0
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
