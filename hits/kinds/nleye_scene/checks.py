"""Checks of a scene for its reviewer: what the live hints of its page say about the submitted texts."""

from collections.abc import Sequence

from hits.domain.answers.review_flags import ReviewCheck
from hits.hints.card import Hint, HintRule

_TEXT_NAMES = {1: "premise", 2: "more plausible hypothesis", 3: "less plausible hypothesis"}
# Rule, what is in order, what is not, and the short form for a table.
_CHECKS: tuple[tuple[HintRule, str, str, str], ...] = (
    (
        HintRule.PREMISE_UNUSED,
        "Both hypotheses take up the premise",
        "takes up nothing of the premise",
        "premise unused",
    ),
    (HintRule.NOT_VISIBLE, "Everything can be seen", "“%s” cannot be seen", "not visible"),
    (
        HintRule.SEVERAL_DIFFERENCES,
        "The hypotheses differ in one thing",
        "differs in several places",
        "several differences",
    ),
    (HintRule.TOO_MANY_WORDS, "No text has more than 40 words", "has more than 40 words", "long"),
    (HintRule.UNCLEAR_PRONOUN, "Every pronoun has its noun", "“%s” has no noun before it", "pronoun"),
)


def run_checks(hints: Sequence[Hint]) -> list[ReviewCheck]:
    """Return one check for each of these rules, in a fixed order; a failed one names the first text."""
    first = {hint.rule: hint for hint in reversed(hints)}
    return [
        ReviewCheck(False, _describe(first[rule], problem), short)
        if rule in first
        else ReviewCheck(True, passed)
        for rule, passed, problem, short in _CHECKS
    ]


def _describe(hint: Hint, problem: str) -> str:
    name = _TEXT_NAMES[hint.card]
    return f"{name.capitalize()}: {problem % hint.quote if '%s' in problem else problem}"
