"""The optional form about the worker: few questions, each may be left out, answers from a list alone.

Reported in a dataset's datasheet as counts, never with a row of data. Nothing depends on an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class DemographicsError(ValueError):
    """An answer that the form does not offer; the message names the question."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``choices`` are (stored value, what the worker reads)."""

    name: str
    words: str
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


def parse(raw: Any) -> dict[str, str]:
    """Return the answers that were given, empty ones left out.

    Raises:
        DemographicsError: no object, an unknown question, or an answer that is not offered.
    """
    if not isinstance(raw, Mapping):
        raise DemographicsError("send the answers as an object")
    known = {question.name: {value for value, _ in question.choices} for question in QUESTIONS}
    answers = {}
    for name, value in raw.items():
        if name not in known:
            raise DemographicsError(f"{str(name)[:40]} is not asked")
        if value in (None, ""):
            continue
        if not isinstance(value, str) or value not in known[name]:
            raise DemographicsError(f"{name}: choose one from the list, or leave it out")
        answers[name] = value
    return answers
