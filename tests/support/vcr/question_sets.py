"""Question sets with arbitrary wrong choices, for tests that need no matching."""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curation.models import Question, QuestionSet, QuestionSetState, Stage
from hits.domain.tagged_text import Segment, Segments, normalize_segments
from hits.models import Project, Record
from tests.support.vcr.stored import store_triplets
from tests.support.vcr.synthetic import SyntheticTriplet, make_synthetic_set

ROUNDS = 3


class StoredSet(NamedTuple):
    """Made-up triplets, their records in the same order, and the question set about them."""

    triplets: Sequence[SyntheticTriplet]
    records: Sequence[Record]
    question_set: QuestionSet


def store_synthetic_set(project: Project, fold_sizes: Mapping[str, int], *, seed: int = 0) -> StoredSet:
    """Store made-up triplets as approved records of a project, and an accepted question set about them."""
    triplets = make_synthetic_set(fold_sizes, dimensions=4, seed=seed).triplets
    records = store_triplets(project, triplets)
    return StoredSet(triplets, records, store_question_set(project, triplets, records))


def store_question_set(
    project: Project,
    triplets: Sequence[SyntheticTriplet],
    records: Sequence[Record],
    *,
    name: str = "first",
    state: str = QuestionSetState.ACCEPTED,
    seed: int = 0,
) -> QuestionSet:
    """Store an accepted set in which the wrong choices of a triplet are the texts of the next three of its fold."""
    stored = QuestionSet.objects.create(
        project=project, name=name, state=state, rehearsal=project.is_rehearsal, secret=f"{seed:064x}"
    )
    generator = random.Random(seed)
    folds: dict[str, list[tuple[SyntheticTriplet, Record]]] = {}
    for pair in zip(triplets, records, strict=True):
        folds.setdefault(pair[0].fold, []).append(pair)
    rows = []
    for fold, members in folds.items():
        split = fold.partition("-")[0]
        for index, (triplet, record) in enumerate(members):
            for stage in Stage:
                order = generator.sample(range(ROUNDS + 1), ROUNDS + 1)
                choices = [
                    {
                        "source": (index + shift) % len(members),
                        "round": shift,
                        "text": _fitted(getattr(members[(index + shift) % len(members)][0], stage), triplet),
                    }
                    for shift in order
                ]
                rows.append(
                    Question(
                        question_set=stored,
                        triplet=record,
                        stage=stage,
                        movie=triplet.movie,
                        split=split,
                        annot_id=f"{split}-{index}",
                        question_number=triplet.question_number,
                        fold=fold,
                        match_index=index,
                        choices=choices,
                        label=order.index(0),
                    )
                )
    Question.objects.bulk_create(rows, batch_size=1000)
    return stored


def _fitted(text: Segments, triplet: SyntheticTriplet) -> list[Segment]:
    """Return a text with its tags among the objects of a triplet."""
    count = len(triplet.objects)
    return normalize_segments(
        [
            segment if isinstance(segment, str) else {"objects": [i % count for i in segment["objects"]]}
            for segment in text
        ]
    )
