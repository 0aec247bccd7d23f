"""Questions as pages show them: rows of a list, and the four choices of one question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.models import Question, Stage
from curation.selectors.object_lists import objects_of_records
from curation.selectors.questions import questions_by_match_index
from hits.domain.tagged_text import Segments, display_text


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A question in a list. wrong: the choices of the chosen round, or all wrong ones, with their rounds."""

    question: Question
    names: Sequence[str]
    query: Segments
    right_answer: Segments
    gold: Segments
    wrong: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ShownTag:
    """An object of the source's photo, and the object of this photo that took its place. Numbers count from 1."""

    name: str
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class ShownChoice:
    """One of the four choices. source: the question that it was written for; tags: how its tags were remapped.

    original: as it was written, with the numbers of its own photo's objects.
    """

    position: int
    text: Segments
    is_right: bool
    round: int
    source: Question | None
    match_index: int
    original: str
    tags: Sequence[ShownTag]
    words: Sequence[str]
    relevance: float | None
    similarity: float | None


def show_rows(questions: Sequence[Question], chosen_round: int | None) -> list[ShownRow]:
    """Return the rows of a list; two queries load the object lists of all of them."""
    objects = objects_of_records([question.triplet for question in questions])
    return [
        ShownRow(
            question=question,
            names=[found.name for found in objects[question.triplet.pk]],
            query=question.triplet.fields["question"],
            right_answer=question.triplet.fields["answer"] if question.stage == Stage.RATIONALE else (),
            gold=question.triplet.fields[question.stage],
            wrong=[
                choice
                for choice in sorted(question.choices, key=lambda choice: choice["round"])
                if choice["round"] and chosen_round in {None, choice["round"]}
            ],
        )
        for question in questions
    ]


def show_choices(question: Question) -> list[ShownChoice]:
    """Return the choices of a question in the order of display; empty if its triplet was set aside."""
    sources = questions_by_match_index(question, [choice["source"] for choice in question.choices])
    objects = objects_of_records([source.triplet for source in sources.values()])
    return [
        _show_choice(question, position, choice, sources.get(choice["source"]), objects)
        for position, choice in enumerate(question.choices)
    ]


def _show_choice(
    question: Question,
    position: int,
    choice: Mapping[str, Any],
    source: Question | None,
    objects: Mapping[int, Sequence[Any]],
) -> ShownChoice:
    names = [found.name for found in objects[source.triplet.pk]] if source is not None else []
    return ShownChoice(
        position=position + 1,
        text=choice["text"],
        is_right=position == question.label,
        round=choice["round"],
        source=source,
        match_index=choice["source"],
        original=display_text(source.triplet.fields[question.stage], names) if source is not None else "",
        tags=[
            ShownTag(names[old], old + 1, new + 1)
            for old, new in choice.get("remapped", ())
            if old < len(names)
        ],
        words=choice.get("words", ()),
        relevance=choice.get("relevance"),
        similarity=choice.get("similarity"),
    )
