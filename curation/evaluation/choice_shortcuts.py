"""Rules that choose a response without looking at the image: how far the texts alone give it away.

Each rule scores the four responses and chooses the highest. Sources: Ye & Kovashka 2021,
doi:10.1609/aaai.v35i4.16428 (shared tags are right in 29 %, pronouns instead of tags); Zellers et al. 2019 §D
(longer and negated responses), doi:10.1109/CVPR.2019.00688.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.choice_items import CHOICES, StageQuestion, Text, tagged_objects, words

CHANCE = 1 / CHOICES
GENDERED_PRONOUNS = frozenset({"she", "her", "hers", "herself", "he", "him", "his", "himself"})
NEGATIONS = frozenset(
    {"no", "not", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without", "cannot"}
)
# "n't" of a contraction: published tokens are split at the apostrophe, so that "doesn't" ends with "n", "'", "t".
_CONTRACTED_NEGATION = "t"
_APOSTROPHES = frozenset("'’")

MIN_QUESTIONS = 2000
"""With fewer questions a limit is the upper bound of chance plus a point, if that is higher."""
BOUND_LEVEL = 0.95
POINT = 0.01


@dataclass(frozen=True, slots=True)
class RuleShares:
    """How often a rule is right, as shares from 0 to 1.

    first_on_ties: the first of equal highest scores is chosen. gold_among_best: the right response has the highest
    score, alone or not. expected_on_ties: each of k equal ones counts 1/k; only this is independent of the order.
    """

    first_on_ties: float | None
    gold_among_best: float | None
    expected_on_ties: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return the three shares by name."""
        return asdict(self)


def rule_shares(scores: NDArray[np.number], labels: NDArray[np.integer]) -> RuleShares:
    """Return how often the highest of four scores is the right response.

    Args:
        scores: (n, 4). labels: (n,).
    """
    if not len(labels):
        return RuleShares(None, None, None)
    is_best = scores == scores.max(axis=1, keepdims=True)
    is_right = is_best[np.arange(len(labels)), labels]
    return RuleShares(
        first_on_ties=float((scores.argmax(axis=1) == labels).mean()),
        gold_among_best=float(is_right.mean()),
        expected_on_ties=float((is_right / is_best.sum(axis=1)).mean()),
    )


def count_shared_tags(query: Text, response: Text) -> int:
    """Return the number of distinct objects that both texts tag."""
    return len(tagged_objects(query) & tagged_objects(response))


def count_shared_words(query: Text, response: Text) -> int:
    """Return the number of distinct lower-cased words that both texts have; tags are left out."""
    return len(set(words(query)) & set(words(response)))


def count_tokens(_query: Text, response: Text) -> int:
    """Return the number of tokens of the response; a group of tags is one."""
    return len(response)


def has_gendered_pronoun(_query: Text, response: Text) -> int:
    """Return 1 if the response has a pronoun such as "she" or "his"."""
    return int(not GENDERED_PRONOUNS.isdisjoint(words(response)))


def has_negation(_query: Text, response: Text) -> int:
    """Return 1 if the response has a negation, such as "not" or the end of "isn't"."""
    if not NEGATIONS.isdisjoint(words(response)):
        return 1
    return int(
        any(first in _APOSTROPHES and second == _CONTRACTED_NEGATION for first, second in pairwise(response))
    )


Rule = Callable[[Text, Text], int]
RULES: Mapping[str, Rule] = {
    "tag_overlap": count_shared_tags,
    "word_overlap": count_shared_words,
    "longest": count_tokens,
    "pronoun_agreement": has_gendered_pronoun,
    "negation": has_negation,
}
"""The rules, by the name of their audit: each scores a response, given its query."""


def score_responses(questions: Sequence[StageQuestion], rule: Rule) -> NDArray[np.int64]:
    """Return a rule's score of each response: (n, 4)."""
    rows = [[rule(question.query, response) for response in question.responses] for question in questions]
    return np.array(rows, dtype=np.int64).reshape(-1, CHOICES)


def question_labels(questions: Sequence[StageQuestion]) -> NDArray[np.int64]:
    """Return the position of each right response: (n,)."""
    return np.array([question.label for question in questions], dtype=np.int64)


def measure_rules(questions: Sequence[StageQuestion]) -> dict[str, RuleShares]:
    """Return how often each rule is right."""
    labels = question_labels(questions)
    return {name: rule_shares(score_responses(questions, rule), labels) for name, rule in RULES.items()}


@dataclass(frozen=True, slots=True)
class Limits:
    """The range of an audit's share in which a set is fit to be used; ``low`` may be absent."""

    high: float
    low: float | None = None


RULE_LIMIT = 0.27
AUDIT_LIMITS: Mapping[str, Limits] = {
    "tag_overlap": Limits(RULE_LIMIT),
    "longest": Limits(RULE_LIMIT),
    "pronoun_agreement": Limits(RULE_LIMIT),
    "response_only": Limits(0.28, 0.22),
}
"""The limits of ``expected_on_ties`` with many questions. The other audits are reported without a limit."""


@dataclass(frozen=True, slots=True)
class LimitCheck:
    """An audit's share beside its limits for this number of questions."""

    audit: str
    stage: str
    value: float
    high: float
    low: float | None

    @property
    def is_over(self) -> bool:
        """Whether the share is outside of the limits."""
        return self.value > self.high or (self.low is not None and self.value < self.low)

    def as_json(self) -> dict[str, str | float | bool | None]:
        """Return the fields and ``is_over``."""
        return {**asdict(self), "is_over": self.is_over}


def check_limit(audit: str, stage: str, value: float | None, n: int) -> LimitCheck | None:
    """Return an audit's share beside its limits; None for an audit without a limit or a share.

    Args:
        value: ``expected_on_ties``. n: the number of questions.
    """
    limits = AUDIT_LIMITS.get(audit)
    if limits is None or value is None:
        return None
    high, low = limits.high, limits.low
    if n < MIN_QUESTIONS:
        high = max(high, upper_chance_bound(n) + POINT)
        low = None if low is None else min(low, lower_chance_bound(n) - POINT)
    return LimitCheck(audit, stage, value, high, low)


def upper_chance_bound(n: int) -> float:
    """Return the share that a random choice among four exceeds in at most 5 % of sets of n questions."""
    return binomial_quantile(n, CHANCE, BOUND_LEVEL) / n if n else 1.0


def lower_chance_bound(n: int) -> float:
    """Return the share that a random choice among four falls short of in at most 5 % of sets of n questions."""
    return binomial_quantile(n, CHANCE, 1 - BOUND_LEVEL) / n if n else 0.0


def binomial_quantile(n: int, p: float, level: float) -> int:
    """Return the smallest k with P(X ≤ k) ≥ ``level`` for X binomial with n draws and probability 0 < p < 1."""
    total = 0.0
    for k in range(n):
        log_ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        total += math.exp(log_ways + k * math.log(p) + (n - k) * math.log1p(-p))
        if total >= level:
            return k
    return n
