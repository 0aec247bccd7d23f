"""Rows of the papers' tables without any training: jobs that only say that they are done, and rows made by hand."""

from typing import Any

from curation.models import DatasetVersion, Evaluation, Scorer
from curation.pipelines import ablations
from curation.services.ablations import AblationOptions, default_splits, request_ablations
from curation.services.named_rows import merge_facts
from hits.domain.states import JobState
from hits.models import Job
from hits.services.jobs import jobs

FIGURES = {"retrieval": {"p_at_1": {"value": 12.5, "low": 10.0, "high": 15.0}, "instances": 12, "chunks": 1}}
COUNTS = {"train_pairs": 24, "train_images": 8, "val_pairs": 6, "val_images": 2}
SMALL: dict[str, Any] = {"model": "tiny", "steps": 20, "batch_size": 4}


class Runner:
    """Stands for the work of the jobs within: marks scorers as ready and gives evaluations their figures."""

    def __init__(self) -> None:
        self.tasks: list[str] = []
        self.fails = ""

    def __call__(self, *, job: Job, listener: Any = None) -> Job:
        self.tasks.append(job.task)
        listener(job, "a line of its log")
        listener(job, "")
        if job.task == self.fails:
            Job.objects.filter(pk=job.pk).update(state=JobState.FAILED, error="no memory")
        else:
            for scorer in Scorer.objects.filter(job=job):
                merge_facts(scorer, splits=COUNTS)  # as a training does when it begins
            Scorer.objects.filter(job=job).update(is_ready=True, weights_sha256="ab" * 32)
            Evaluation.objects.filter(job=job).update(figures=FIGURES, sha256="cd" * 32)
            Job.objects.filter(pk=job.pk).update(state=JobState.DONE)
        job.refresh_from_db()
        return job


def made(version: DatasetVersion, *names: str, **more: Any) -> dict[str, Any]:
    """Run a job of these recipes as a worker would; return its result."""
    options = AblationOptions(split="test", recipes=names, **(SMALL | more))
    job = request_ablations(version=version, options=options, by=None, queue=False)
    with jobs.leased_job(job.pk) as progress:
        assert progress is not None
        jobs.set_result(job=job, **ablations.run_ablations(progress))
    job.refresh_from_db()
    assert job.state == JobState.DONE, job.error
    return dict(job.result)


def scorer_of(version: DatasetVersion, name: str, config: dict[str, Any], **more: Any) -> Scorer:
    """Return a ready scorer with a configuration, trained on what training takes by itself."""
    facts: dict[str, Any] = {"splits": default_splits(version, seed=config.get("seed", 0)).as_json()} | more
    return Scorer.objects.create(
        project=version.project,
        name=name,
        version=version,
        config=config,
        path=f"scorers/{name}",
        weights_sha256="ab" * 32,
        is_ready=True,
        **facts,
    )


def measured(version: DatasetVersion, p_at_1: float, scorer: Scorer | None = None, **more: Any) -> Evaluation:
    """Return an evaluation on the test split whose P@1 is known; of a scorer unless ``more`` says of what."""
    facts: dict[str, Any] = {
        "source": "scorer",
        "label": "of a test",
        "figures": {"retrieval": {"p_at_1": figure(p_at_1), "instances": 12, "chunks": 1}},
    }
    return Evaluation.objects.create(
        project=version.project, version=version, split="test", scorer=scorer, **(facts | more)
    )


def figure(value: float | None) -> dict[str, float | None]:
    """Return a figure as evaluations keep it."""
    return {"value": value, "low": value, "high": value}
