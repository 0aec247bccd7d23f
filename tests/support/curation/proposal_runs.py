"""A detector of fixed boxes, and helpers that run proposal jobs in the test process."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from celery import current_app
from PIL import Image as Pillow

from curation.models import ProposalRun
from curation.proposals.detector import DetectedBoxes
from curation.services import proposals as services
from hits.domain.states import JobState
from hits.models import Job, Project
from hits.services.jobs import jobs


class FixedBoxDetector:
    """Ten boxes that depend on a picture's pixels alone."""

    name = "classical"

    def __init__(self, revision: str = "1", *, fails_after: int | None = None, dies: bool = False) -> None:
        self.revision = revision
        self.seen = 0
        self._fails_after = fails_after
        self._dies = dies

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the boxes; the worker dies, or somebody cancels, when enough pictures were seen."""
        self.seen += len(pictures)
        if self._fails_after is not None and self.seen > self._fails_after:
            if self._dies:
                os._exit(7)
            jobs.cancel_job(job=Job.objects.get(task="curation.propose_boxes"))
        return [self._boxes(picture) for picture in pictures]

    def _boxes(self, picture: Pillow.Image) -> DetectedBoxes:
        rng = np.random.default_rng(int(np.asarray(picture).sum()))
        start = rng.integers(0, 30, (10, 2))
        corners = np.concatenate([start, start + rng.integers(5, 18, (10, 2))], axis=1)
        return DetectedBoxes(corners, np.linspace(1, 0.1, 10))


def split_into_subjobs(project: Project) -> tuple[Job, list[Job]]:
    """Return a job after it was split, and its sub-jobs, which have not run yet."""
    job = services.request_proposals(project=project, by=None, queue=False)
    current_app.tasks[job.task](job.pk)
    job.refresh_from_db()
    return job, list(job.subjobs.order_by("pk"))


def run_subjob(job: Job) -> Job:
    """Run the task of this job as a worker does."""
    current_app.tasks[job.task](job.pk)
    job.refresh_from_db()
    return job


def run_job(job: Job) -> Job:
    return jobs.run_in_process(job=job)


def make_run(project: Project, **options: Any) -> ProposalRun:
    job = services.request_proposals(
        project=project, by=None, options=services.ProposalOptions(**options), queue=False
    )
    assert run_job(job).state == JobState.DONE, job.error
    return ProposalRun.objects.get(pk=job.args["run"])


def list_boxes(run: ProposalRun) -> list[tuple[int, Any]]:
    return list(run.image_proposals.order_by("image_id").values_list("image_id", "boxes"))
