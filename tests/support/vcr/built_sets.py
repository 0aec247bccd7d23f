"""Question sets built by the pipeline from made-up triplets, with sentence vectors that are stored beforehand."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from curation.models import QuestionSet
from curation.pipelines.questions.triplets import ANSWER, QUERY, QUESTION, RATIONALE, load_triplets, read_keys
from curation.pipelines.questions.vectors import sentence_origin
from curation.pipelines.vectors import get_or_make_vectors
from curation.services.questions import QuestionSetOptions, request_question_set
from hits.domain.states import JobState
from hits.models import Job, Project, Record
from hits.services.jobs import jobs
from tests.support.vcr.stored import store_triplets
from tests.support.vcr.synthetic import SyntheticSet, make_synthetic_set

SMALL_FOLDS: Mapping[str, int] = {"train-0": 40, "val-0": 40, "test-0": 40}


def store_synthetic_project(
    project: Project, fold_sizes: Mapping[str, int] = SMALL_FOLDS, *, seed: int = 0, splits: bool = True
) -> SyntheticSet:
    """Store made-up triplets and their sentence vectors in a project."""
    synthetic = make_synthetic_set(fold_sizes, seed=seed)
    records = store_triplets(project, synthetic.triplets, splits=splits)
    store_vectors(project, synthetic, records)
    return synthetic


def store_vectors(project: Project, synthetic: SyntheticSet, records: list[Record]) -> None:
    """Store the made-up vectors as if the sentence model had made them."""
    number_of = {record.instance_id: number for number, record in enumerate(records)}
    keys = read_keys(project)
    triplets = list(load_triplets(keys))
    order = [number_of[key.id] for key in keys]
    made = {
        QUESTION: synthetic.question,
        ANSWER: synthetic.answer,
        QUERY: synthetic.query,
        RATIONALE: synthetic.rationale,
    }
    for text, vectors in made.items():
        rows = _batches(vectors[order])
        get_or_make_vectors(
            project=project,
            origin=sentence_origin(),
            items=[triplet.class_text(text) for triplet in triplets],
            fingerprints=[triplet.class_text(text) for triplet in triplets],
            ids=[key.id for key in keys],
            encode=lambda batch, rows=rows: np.stack([next(rows) for _ in batch]),
            step=lambda count: None,
        )


def _batches(vectors: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    yield from vectors


def build_set(project: Project, name: str = "draft", **options: object) -> QuestionSet:
    """Build a set in this process, and return it; small folds are allowed."""
    chosen = QuestionSetOptions(**({"small": True, "folds": 3} | options))  # type: ignore[arg-type]
    job: Job = request_question_set(project, name, chosen, queue=False)
    job = jobs.run_in_process(job=job)
    assert job.state == JobState.DONE, job.error
    return QuestionSet.objects.get(project=project, name=name)


def files_of(question_set: QuestionSet) -> dict[str, bytes]:
    """Return the content of a set's files by their paths."""
    folder = Path(settings.MEDIA_ROOT) / question_set.path
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
