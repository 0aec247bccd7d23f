"""The optional form about the worker: a few questions with listed answers, each of which may be skipped.

A dataset's datasheet reports counts, never answers beside a record. Nothing depends on an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class DemographicsError(ValueError):
    """An answer that the form does not offer; the message names the question."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``choices`` are (stored value, label for the worker)."""

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]


QUESTIONS = (
    Question(
        "age",
        "Age",
        (
            ("18-24", "18 to 24"),
            ("25-34", "25 to 34"),
            ("35-44", "35 to 44"),
            ("45-54", "45 to 54"),
            ("55-64", "55 to 64"),
            ("65+", "65 or older"),
        ),
    ),
    Question(
        "gender",
        "Gender",
        (("woman", "Woman"), ("man", "Man"), ("non_binary", "Non-binary"), ("other", "Another")),
    ),
    Question(
        "education",
        "Highest education",
        (
            ("school", "School"),
            ("vocational", "Vocational training"),
            ("bachelor", "Bachelor’s degree"),
            ("master", "Master’s degree or higher"),
        ),
    ),
    Question(
        "english",
        "How well you know English",
        (("first", "My first language"), ("fluent", "Fluent"), ("good", "Good enough for this work")),
    ),
)


def parse_demographics(raw: Any) -> dict[str, str]:
    """Return the given answers without empty ones.

    Raises:
        DemographicsError: not an object, an unknown question, or an answer that is not offered.
    """
    if not isinstance(raw, Mapping):
        raise DemographicsError("send the answers as an object")
    known = {question.name: {value for value, _ in question.choices} for question in QUESTIONS}
    answers = {}
    for name, value in raw.items():
        if name not in known:
            raise DemographicsError(f"{str(name)[:40]} is not a question")
        if value in (None, ""):
            continue
        if not isinstance(value, str) or value not in known[name]:
            raise DemographicsError(f"{name}: choose one from the list, or leave it out")
        answers[name] = value
    return answers
