"""Checks of an answer for its reviewer: what the live hints of its page say about the submitted texts."""

from collections.abc import Sequence

from hits.domain.answers.review_flags import ReviewCheck
from hits.hints.card import Hint, HintRule

_CHECKS: tuple[tuple[HintRule, str, str, str], ...] = (
    (
        HintRule.REPEATS_ANSWER,
        "No rationale repeats its answer",
        "the rationale repeats the answer",
        "repeats",
    ),
    (
        HintRule.COPIED_QUESTION,
        "No two questions alike",
        "the question is nearly the same as another",
        "copied",
    ),
    (
        HintRule.GENERIC_QUESTION,
        "Every question is about this photo",
        "the question fits any photo",
        "generic",
    ),
    (HintRule.PLAIN_QUESTION, "No question only needs a look", "a look answers the question", "plain"),
    (HintRule.ALL_UNLIKELY, "Not all answers are unlikely", "all answers are unlikely", "all unlikely"),
)


def run_checks(hints: Sequence[Hint]) -> list[ReviewCheck]:
    """Return one check for each of these rules, in a fixed order; a failed one names the first triplet."""
    first = {hint.rule: hint for hint in reversed(hints)}
    return [
        ReviewCheck(False, f"Question {first[rule].card}: {problem}", short)
        if rule in first
        else ReviewCheck(True, passed)
        for rule, passed, problem, short in _CHECKS
    ]
