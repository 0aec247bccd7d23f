"""A reader's answers to a codebook: which codes are asked, and whether what was given answers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation.audits.codebook import Code, Codebook, CodeKind

Answer = str | list[str]
Answers = dict[str, Answer]

SETTLES = "_settles"
"""In a stored reading's answers: it was written to settle a difference. No code can have this id."""


@dataclass(slots=True)
class Checked:
    """Answers as they are kept, in the codebook's order, and what is ``wrong`` by the code's id."""

    answers: Answers = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)


def check(codebook: Codebook, given: Mapping[str, Sequence[str]]) -> Checked:
    """Return what a form gave for each code: answers to codes that are not asked are dropped.

    Args:
        given: the chosen values by the code's id; a code that is missing was not answered.
    """
    found = Checked()
    for code in codebook.codes:
        if not is_asked(code, found.answers):
            continue
        chosen = [value for value in code.values if value in given.get(code.id, ())]
        problem = _problem(code, chosen, given.get(code.id, ()))
        if problem:
            found.wrong[code.id] = problem
        else:
            found.answers[code.id] = chosen if code.kind is CodeKind.MULTIPLE else chosen[0]
    return found


def is_asked(code: Code, answers: Mapping[str, Any]) -> bool:
    """Tell whether the answers so far ask for this code."""
    condition = code.asked_when
    return condition is None or not set(chosen(answers, condition.code)).isdisjoint(condition.values)


def chosen(answers: Mapping[str, Any], code: str) -> list[str]:
    """Return the values that were chosen for a code; none where it was not asked."""
    value = answers.get(code)
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


def _problem(code: Code, values: Sequence[str], given: Sequence[str]) -> str:
    unknown = [value for value in given if value not in code.values]
    if unknown:
        return f"{unknown[0]!r} is no answer to this; choose one that is shown"
    if not values:
        return "choose at least one" if code.kind is CodeKind.MULTIPLE else "choose one"
    if code.kind is not CodeKind.MULTIPLE and len(values) > 1:
        return "choose one alone"
    if len(values) > 1 and not code.alone.isdisjoint(values):
        words = next(code.words_of(value) for value in values if value in code.alone)
        return f"“{words}” stands alone; take the others away, or it"
    return ""
