"""Multiple-choice questions of an exam: their schema, the choices of a worker, and the score."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from hits.domain.answers.exam import ExamScore
from hits.domain.schema import FieldError, Schema

MAX_QUESTIONS = 20


class ChoiceQuestion(Schema):
    """One exam question. ``right`` is the index of the right choice and never leaves the server."""

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")
    text: str = Field(min_length=1, max_length=400)
    choices: list[str] = Field(min_length=2, max_length=6)
    right: int = Field(ge=0)

    @field_validator("choices")
    @classmethod
    def _check_choices(cls, choices: list[str]) -> list[str]:
        if not all(choice.strip() for choice in choices):
            raise ValueError("a choice is empty: give each a text")
        if len({choice.strip().casefold() for choice in choices}) != len(choices):
            raise ValueError("a choice occurs twice: give each its own text")
        return choices

    @model_validator(mode="after")
    def _check_right_choice(self) -> Self:
        if self.right >= len(self.choices):
            raise ValueError(f"right: use the index of a choice, 0 to {len(self.choices) - 1}")
        return self


class Choice(Schema):
    """The answer to one question: the choice's index."""

    question: str = Field(max_length=40)
    choice: int = Field(ge=0)


def check_question_ids(questions: Sequence[ChoiceQuestion]) -> None:
    """Check that each question of a unit has an id of its own.

    Raises:
        ValueError: an id occurs twice.
    """
    if len({question.id for question in questions}) != len(questions):
        raise ValueError("a question's id occurs twice: give each its own")


def questions_for_page(questions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the questions of a unit without their right choices."""
    return [{key: value for key, value in row.items() if key != "right"} for row in questions]


def clean_choices(
    questions: Sequence[Mapping[str, Any]], given: Sequence[Choice]
) -> tuple[list[dict[str, Any]], list[FieldError]]:
    """Return the choices in the order of the unit's questions, and the unknown, repeated and missing ones."""
    errors = []
    choices = {row["id"]: len(row["choices"]) for row in questions}
    chosen: dict[str, int] = {}
    for position, item in enumerate(given):
        path = f"exam[{position}]"
        if item.question not in choices:
            errors.append(FieldError(f"{path}.question", "is not one of this task's questions"))
        elif item.question in chosen:
            errors.append(FieldError(f"{path}.question", "occurs twice: answer each question once"))
        elif item.choice >= choices[item.question]:
            errors.append(FieldError(f"{path}.choice", "is not one of the choices"))
        else:
            chosen[item.question] = item.choice
    unanswered = len(set(choices) - {item.question for item in given})
    if unanswered:
        errors.append(
            FieldError("exam", f"{unanswered} of {len(choices)} questions have no answer: answer each")
        )
    return [{"question": key, "choice": chosen[key]} for key in choices if key in chosen], errors


def score_choices(questions: Sequence[Mapping[str, Any]], exam: Sequence[Mapping[str, Any]]) -> ExamScore:
    """Return how many of the unit's questions were answered correctly; ``exam`` are the answer's choices."""
    chosen = {row["question"]: row["choice"] for row in exam}
    return ExamScore(sum(chosen.get(row["id"]) == row["right"] for row in questions), len(questions))
