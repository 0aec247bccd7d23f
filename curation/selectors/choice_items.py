"""The questions of a set as plain records, with the tokens that the published files have."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from curation.evaluation.choice_items import ChoiceItem, Stage, StageChoices, Text, plain_text
from curation.models import Question, QuestionSet
from curation.selectors.object_lists import objects_of_records
from hits.domain.tagged_text import Segments, tokenize_segments
from hits.models import Record

CHUNK_SIZE = 2_000  # triplets in memory with their rows
CLOSING_MARKS = {"question": "?", "answer": ".", "rationale": "."}
"""The mark that a published text ends with, if it was written without one."""


def built_questions(question_set: QuestionSet, split: str = "") -> "QuerySet[Question]":
    """Return the questions of a set that have choices, of one split or of all."""
    rows = Question.objects.filter(question_set=question_set).exclude(choices=[])
    return rows.filter(split=split) if split else rows


def question_set_items(question_set: QuestionSet, split: str = "") -> list[ChoiceItem]:
    """Return the questions of a set, by fold and match index; a stage that was set aside is absent.

    Args:
        split: train, val, test or blind; empty for all.
    """
    return list(iterate_items(built_questions(question_set, split)))


def iterate_items(questions: "QuerySet[Question]") -> Iterator[ChoiceItem]:
    """Yield the items of question rows, by fold and match index."""
    rows = questions.select_related("triplet").order_by("fold", "match_index", "stage")
    chunk: list[Question] = []
    triplets = 0
    for row in rows.iterator(chunk_size=CHUNK_SIZE):
        if not chunk or row.triplet_id != chunk[-1].triplet_id:
            triplets += 1
        if triplets > CHUNK_SIZE:
            yield from make_items(chunk)
            chunk, triplets = [], 1
        chunk.append(row)
    yield from make_items(chunk)


def make_items(rows: Sequence[Question]) -> Iterator[ChoiceItem]:
    """Yield the items of question rows that were loaded with their triplets."""
    by_triplet: dict[int, list[Question]] = {}
    for row in rows:
        by_triplet.setdefault(row.triplet_id, []).append(row)
    objects = objects_of_records([stages[0].triplet for stages in by_triplet.values()])
    for triplet_id, stages in by_triplet.items():
        yield _make_item(stages, tuple(sys.intern(found.name) for found in objects[triplet_id]))


def _make_item(stages: Sequence[Question], objects: tuple[str, ...]) -> ChoiceItem:
    first = stages[0]
    triplet: Record = first.triplet
    return ChoiceItem(
        annot_id=first.annot_id,
        image=str(triplet.image_id),
        objects=objects,
        question=published_text(triplet.fields["question"], "question"),
        stages={Stage(row.stage): _make_choices(row) for row in stages},
        right_answer=published_text(triplet.fields["answer"], Stage.ANSWER),
        movie=first.movie,
        fold=first.fold,
        match_index=first.match_index,
    )


def _make_choices(row: Question) -> StageChoices:
    choices: list[dict[str, Any]] = row.choices
    return StageChoices(
        responses=tuple(published_text(choice["text"], row.stage) for choice in choices),
        label=row.label,
        sources=tuple(choice["source"] for choice in choices),
        rounds=tuple(choice["round"] for choice in choices),
    )


def published_text(segments: Segments, field: str) -> Text:
    """Return the published tokens of a text: a question ends with "?", other texts with "."."""
    return plain_text(tokenize_segments(segments, closing=CLOSING_MARKS[field]))
