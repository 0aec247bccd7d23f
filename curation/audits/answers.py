"""A reader's answers to a codebook: which codes apply, and whether the answers are valid."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation.audits.codebook import Code, Codebook, CodeKind

Answer = str | list[str]
Answers = dict[str, Answer]

SETTLEMENT_KEY = "_settles"
"""This key in a stored label's answers marks a settlement of a difference. No code can have it as its id."""


@dataclass(slots=True)
class CheckedAnswers:
    """Valid answers in the codebook's order, and error messages, both by code id."""

    answers: Answers = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


def parse_answers(codebook: Codebook, posted: Mapping[str, Sequence[str]]) -> CheckedAnswers:
    """Parse a form's answers; answers to codes that do not apply are dropped.

    Args:
        posted: the chosen values by code id; codes that are missing were not answered.
    """
    found = CheckedAnswers()
    for code in codebook.codes:
        if not is_applicable(code, found.answers):
            continue
        values = [value for value in code.values if value in posted.get(code.id, ())]
        problem = _describe_answer_problem(code, values, posted.get(code.id, ()))
        if problem:
            found.errors[code.id] = problem
        else:
            found.answers[code.id] = values if code.kind is CodeKind.MULTIPLE else values[0]
    return found


def is_applicable(code: Code, answers: Mapping[str, Any]) -> bool:
    """Whether a code applies, given the answers so far."""
    condition = code.asked_when
    return condition is None or not set(chosen_values(answers, condition.code)).isdisjoint(condition.values)


def chosen_values(answers: Mapping[str, Any], code: str) -> list[str]:
    """Return the values chosen for a code, empty if it did not apply."""
    value = answers.get(code)
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


def _describe_answer_problem(code: Code, values: Sequence[str], posted: Sequence[str]) -> str:
    unknown = [value for value in posted if value not in code.values]
    if unknown:
        return f"{unknown[0]!r} is not one of the answers; choose one that is shown"
    if not values:
        return "choose at least one" if code.kind is CodeKind.MULTIPLE else "choose one"
    if code.kind is not CodeKind.MULTIPLE and len(values) > 1:
        return "choose only one"
    if len(values) > 1 and not code.exclusive_values.isdisjoint(values):
        label = next(code.value_label(value) for value in values if value in code.exclusive_values)
        return f"“{label}” excludes all other answers; choose only it, or remove it"
    return ""
