"""A reader's answers to a codebook: which codes are asked, and whether what was given answers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation.audits.codebook import Code, Codebook, CodeKind

Answer = str | list[str]
Answers = dict[str, Answer]

SETTLEMENT_KEY = "_settles"
"""In a stored reading's answers: it was written to settle a difference. No code can have this id."""


@dataclass(slots=True)
class CheckedAnswers:
    """Answers as they are kept, in the codebook's order, and what is ``wrong`` by the code's id."""

    answers: Answers = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


def check_answers(codebook: Codebook, posted: Mapping[str, Sequence[str]]) -> CheckedAnswers:
    """Return what a form gave for each code: answers to codes that are not asked are dropped.

    Args:
        given: the chosen values by the code's id; a code that is missing was not answered.
    """
    found = CheckedAnswers()
    for code in codebook.codes:
        if not is_applicable(code, found.answers):
            continue
        values = [value for value in code.values if value in posted.get(code.id, ())]
        problem = _problem(code, values, posted.get(code.id, ()))
        if problem:
            found.errors[code.id] = problem
        else:
            found.answers[code.id] = values if code.kind is CodeKind.MULTIPLE else values[0]
    return found


def is_applicable(code: Code, answers: Mapping[str, Any]) -> bool:
    """Tell whether the answers so far ask for this code."""
    condition = code.asked_when
    return condition is None or not set(chosen_values(answers, condition.code)).isdisjoint(condition.values)


def chosen_values(answers: Mapping[str, Any], code: str) -> list[str]:
    """Return the values that were chosen for a code; none where it was not asked."""
    value = answers.get(code)
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


def _problem(code: Code, values: Sequence[str], posted: Sequence[str]) -> str:
    unknown = [value for value in posted if value not in code.values]
    if unknown:
        return f"{unknown[0]!r} is no answer to this; choose one that is shown"
    if not values:
        return "choose at least one" if code.kind is CodeKind.MULTIPLE else "choose one"
    if code.kind is not CodeKind.MULTIPLE and len(values) > 1:
        return "choose one alone"
    if len(values) > 1 and not code.alone.isdisjoint(values):
        label = next(code.value_label(value) for value in values if value in code.alone)
        return f"“{label}” stands alone; take the others away, or it"
    return ""
