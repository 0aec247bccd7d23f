"""Decide items from several people's labels by rules as data: k of n, majority, or weighted by reliability.

A label is positive (in a rule's ``positive``) or negative. An item is undecided only while missing judges can still
change its outcome, or if the rule leaves a gap (a tie, a probability between the two thresholds). The weighted rule
uses ``P(true label is positive)`` of Dawid and Skene's model (see ``dawid_skene``), which weighs each label by its
rater's estimated error rates.
"""

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation.domain.agreement import dawid_skene
from validation.domain.agreement.dawid_skene import DawidSkene
from validation.domain.judging.ratings import IntArray, RatingTable
from validation.domain.judging.spec import JudgingSpec

HALF = 0.5
MAX_REDUNDANCY = 100
ROUNDING = (
    1e-12  # so that a probability equal to a threshold counts: in floats, 1 - 0.9 is slightly under 0.1
)


class Outcome(StrEnum):
    """The outcome of one item in one dimension."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNDECIDED = "undecided"


class Method(StrEnum):
    """How labels give an outcome."""

    K_OF_N = "k_of_n"
    MAJORITY = "majority"
    WEIGHTED = "weighted"  # by each worker's reliability (Dawid and Skene 1979)


# The type of each field of a rule as plain data.
_FIELD_TYPES: dict[str, Any] = {
    "dimension": str,
    "method": str,
    "positive": list | tuple,
    "k": int | None,
    "of": int | None,
    "threshold": int | float,
    "at_least": int,
}


class RuleError(ValueError):
    """The rule is not valid. ``field`` names the rule's field; the message says what to write."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """How one dimension is decided; values that contradict each other raise ``RuleError``.

    ``positive`` are the labels that count as positive. ``at_least`` is the minimum number of judges for a decision.

    - K_OF_N: accepted with ``k`` positive labels of ``of`` judges, rejected as soon as ``k`` is out of reach. With
      more than ``of`` judges, the same share of them is required. Without ``of``, all judges so far count.
    - MAJORITY: accepted with more than half, rejected with less, undecided at half. With ``of``, decided early only
      if the missing judges cannot change the outcome; ``k`` is not used.
    - WEIGHTED: accepted from a probability of ``threshold``, rejected up to ``1 - threshold``; at a threshold of 0.5
      only 0.5 itself is undecided. ``k`` and ``of`` are not used. Other methods do not use ``threshold``.
    """

    dimension: str
    method: Method
    positive: tuple[str, ...]
    k: int | None = None
    of: int | None = None
    threshold: float = 0.9
    at_least: int = 1

    def __post_init__(self) -> None:
        if not self.dimension or not self.positive:
            field = "positive" if self.dimension else "dimension"
            raise RuleError(field, "Choose a dimension and at least one label that counts as positive.")
        for field in ("at_least", "of", "k"):
            self._check_count(field, getattr(self, field))
        if self.method is Method.K_OF_N and self.k is None:
            raise RuleError("k", "Enter how many positive judgments an item needs.")
        if self.k is not None and self.of is not None and self.k > self.of:
            raise RuleError("k", f"{self.k} positive judgments cannot come from {self.of} judges.")
        if not HALF <= self.threshold <= 1:
            raise RuleError("threshold", "Use a probability from 0.5 to 1.")

    def _check_count(self, field: str, count: int | None) -> None:
        if count is not None and not 1 <= count <= MAX_REDUNDANCY:
            raise RuleError(field, f"Use a whole number from 1 to {MAX_REDUNDANCY}.")

    def as_row(self) -> dict[str, Any]:
        """Return the rule as plain data that JSON can hold; ``from_row`` reads it."""
        return asdict(self) | {
            "method": self.method.value,
            "positive": [str(label) for label in self.positive],
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "DecisionRule":
        """Return the rule that ``as_row`` wrote; missing fields have their defaults.

        Raises:
            RuleError: an unknown or missing field, a wrong type, or values that contradict each other.
        """
        unknown = sorted(set(row) - set(cls.__dataclass_fields__))
        if unknown:
            raise RuleError(unknown[0], f"A rule has no field {unknown[0]}.")
        values = dict(row)
        for field, types in _FIELD_TYPES.items():
            if field in values and (isinstance(values[field], bool) or not isinstance(values[field], types)):
                raise RuleError(field, f"{field}: {values[field]!r} has the wrong type for this field.")
        try:
            values["method"] = Method(row["method"])
            values["positive"] = tuple(map(str, row["positive"]))
            return cls(**values)
        except (KeyError, TypeError) as error:
            raise RuleError("method", "A rule needs dimension, method and positive.") from error
        except ValueError as error:
            if isinstance(error, RuleError):
                raise
            raise RuleError("method", f"Use one of {', '.join(Method)}.") from error


class DecidedItem(NamedTuple):
    """The outcome of one item. ``support`` is the positive share of its labels, or the probability; 0 to 1.

    ``item`` is the table's item id, ``judge_count`` the number of its labels; ``support`` is ``None`` without labels.
    """

    item: Hashable
    outcome: Outcome
    judge_count: int
    support: float | None


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """For each item of a table, (n,) each: the number of its labels and of its positive labels."""

    judge_count: IntArray
    positive: IntArray


OUTCOMES_BY_SIGN = (Outcome.REJECT, Outcome.UNDECIDED, Outcome.ACCEPT)  # for signs -1, 0, 1


def default_rules(spec: JudgingSpec) -> dict[str, DecisionRule]:
    """Return a majority rule for each deciding dimension: more than half of the labels so far, from one label on.

    The dimension's favourable labels count as positive.
    """
    return {
        dimension.name: DecisionRule(
            dimension=dimension.name,
            method=Method.MAJORITY,
            positive=tuple(str(label) for label in dimension.page_labels if label in dimension.favourable),
        )
        for dimension in spec.deciding_dimensions
    }


def decide(table: RatingTable, rule: DecisionRule, *, fit: DawidSkene | None = None) -> list[DecidedItem]:
    """Return the outcome of each item of ``table`` by ``rule``, in the table's order of items.

    Args:
        fit: the model fitted to this table, for the weighted rule; by default it is fitted here, smoothed.

    Raises:
        RuleError: a positive label that is not on the table's scale.
        ValueError: a fit of another table.
    """
    signs, votes, support = decide_as_arrays(table, rule, fit=fit)
    outcomes = [OUTCOMES_BY_SIGN[sign + 1] for sign in signs.tolist()]
    shares = [None if isnan(share) else share for share in support.tolist()]
    return list(map(DecidedItem, table.item_ids, outcomes, votes.judge_count.tolist(), shares))


def decide_as_arrays(
    table: RatingTable, rule: DecisionRule, *, fit: DawidSkene | None = None
) -> tuple[NDArray[np.int8], VoteCounts, NDArray[np.float64]]:
    """Return the outcomes as arrays over the table's items: signs (n,), votes, and support (n,), nan without labels.

    A sign is 1 for accept, 0 for undecided, -1 for reject. Arguments and errors are those of ``decide``.
    """
    positive = _positive_mask(table, rule)
    votes = count_votes(table, positive)
    if rule.method is Method.WEIGHTED:
        support = _positive_probability(table, positive, fit)
        signs = _signs(
            support >= rule.threshold - ROUNDING,
            support <= 1 - rule.threshold + ROUNDING,
        )
        support = np.where(votes.judge_count > 0, support, nan)
    else:
        support = np.divide(
            votes.positive,
            votes.judge_count,
            out=np.full(len(table.item_ids), nan),
            where=votes.judge_count > 0,
        )
        signs = _signs_by_count(votes, rule)
    signs[votes.judge_count < rule.at_least] = 0
    return signs, votes, support


def count_votes(table: RatingTable, positive: NDArray[np.bool_]) -> VoteCounts:
    """Count the labels of each item; ``positive`` (len(scale),) is the mask of positive labels."""
    n = len(table.item_ids)
    positive_items = table.items[positive[table.labels]]
    return VoteCounts(np.bincount(table.items, minlength=n), np.bincount(positive_items, minlength=n))


def _positive_mask(table: RatingTable, rule: DecisionRule) -> NDArray[np.bool_]:
    scale_labels = [str(label) for label in table.scale]
    foreign = [label for label in rule.positive if str(label) not in scale_labels]
    if foreign:
        raise RuleError("positive", f"{foreign[0]} is not on the scale; use {', '.join(scale_labels)}.")
    positive_labels = {str(label) for label in rule.positive}
    return np.array([label in positive_labels for label in scale_labels], dtype=np.bool_)


def _positive_probability(
    table: RatingTable, positive: NDArray[np.bool_], fit: DawidSkene | None
) -> NDArray[np.float64]:
    model = fit or dawid_skene.fit(table, smoothing=dawid_skene.SMOOTHING)
    shape = (len(table.item_ids), len(table.scale))
    if model.posteriors.shape != shape:
        raise ValueError(f"the fit is of {model.posteriors.shape} items and labels, the table of {shape}")
    probabilities: NDArray[np.float64] = model.posteriors[:, positive].sum(axis=1)
    return probabilities


def _signs_by_count(votes: VoteCounts, rule: DecisionRule) -> NDArray[np.int8]:
    """Return signs by integer arithmetic only; ``expected_count`` is the final number of judges of each item."""
    expected_count = votes.judge_count if rule.of is None else np.maximum(votes.judge_count, rule.of)
    missing = expected_count - votes.judge_count
    if rule.method is Method.MAJORITY:
        # Missing judges could all vote negative (accept), or all positive (reject).
        return _signs(2 * votes.positive > expected_count, 2 * (votes.positive + missing) < expected_count)
    k = rule.k or 1
    if rule.of is None:
        return _signs(votes.positive >= k, votes.positive < k)
    # k of ``rule.of`` judges; the same share of more judges, rounded up.
    required = -(-k * expected_count // rule.of)
    return _signs(votes.positive >= required, votes.positive + missing < required)


def _signs(accept: NDArray[np.bool_], reject: NDArray[np.bool_]) -> NDArray[np.int8]:
    return accept.astype(np.int8) - reject.astype(np.int8)
