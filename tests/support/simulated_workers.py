"""A crowd whose every true label and every habit is known, for what no real crowd can show.

Most people judge carefully and differ in how well they do; the others are careless, answer without looking (always
the same, or at random), or read the scale the wrong way round.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from validation.domain.agreement import dawid_skene
from validation.domain.decision_rules import DecisionRule, Method, decide_as_arrays, default_rules
from validation.domain.judging.ratings import IntArray, JudgmentRow, RatingTable
from validation.kinds.observation_review.judging import SPEC
from validation.kinds.observation_review.scales import SCALES, Dimension

DEFAULT_RULES = default_rules(SPEC)

SEED = 2022
ITEMS = 3_000
JUDGES = 3


class Habit(StrEnum):
    """How somebody judges."""

    CAREFUL = "careful"
    CARELESS = "careless"
    CONSTANT = "constant"  # one label, whatever is shown
    RANDOM = "random"
    SWAPPED = "swapped"  # careful, with the scale upside down


CROWD: Mapping[Habit, int] = {
    Habit.CAREFUL: 40,
    Habit.CARELESS: 8,
    Habit.CONSTANT: 4,
    Habit.RANDOM: 4,
    Habit.SWAPPED: 4,
}
HABITS = tuple(habit for habit, count in CROWD.items() for _ in range(count))
SKILL = {Habit.CAREFUL: (0.80, 0.95), Habit.CARELESS: (0.45, 0.60), Habit.SWAPPED: (0.80, 0.95)}

# How often each label of "reasonable" is the true one, low to high: many pairs that fail, so that deciding is hard,
# or as few as the published corpus has (97.5 % acceptable, Hessel et al. 2022, doi:10.1007/978-3-031-20059-5_32).
MIXES: Mapping[str, tuple[float, float, float]] = {
    "a third unreasonable": (0.33, 0.33, 0.34),
    "one in ten unreasonable": (0.10, 0.35, 0.55),
    "as published": (0.025, 0.375, 0.60),
    "nine in ten alike": (0.02, 0.08, 0.90),
}
# All three dimensions as published: 97.5 % acceptable, 98.3 % accurate boxes, 71.9 % interesting (the same paper).
PUBLISHED: Mapping[Dimension, tuple[float, ...]] = {
    Dimension.REASONABLE: (0.025, 0.375, 0.60),
    Dimension.BOXES: (0.017, 0.183, 0.80),
    Dimension.INTERESTING: (0.081, 0.20, 0.45, 0.269),
}


@dataclass(frozen=True, slots=True)
class Crowd:
    """``table`` of labels; ``truth`` (items,) codes of the true ones; ``habits`` one per rater of the table."""

    table: RatingTable
    truth: IntArray
    habits: tuple[Habit, ...]

    def raters(self, *habits: Habit) -> IntArray:
        """Return the codes of the raters with one of ``habits``."""
        return np.flatnonzero(np.isin(self.habits, habits))


def simulate(mix: tuple[float, ...], *, items: int = ITEMS, judges: int = JUDGES, seed: int = SEED) -> Crowd:
    """Return a crowd of 60 that judges ``items`` pairs on "reasonable", ``judges`` different people each.

    Nobody judges everything: people take part to different degrees (the rates of the busiest are up to eight times
    those of the least busy), and who judges what is drawn.
    """
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(mix), items, p=mix)
    return _judged(truth, _assigned(items, judges, len(HABITS), rng), Dimension.REASONABLE, rng)


def simulate_review(*, items: int = ITEMS, seed: int = SEED) -> tuple[list[JudgmentRow], dict[str, Crowd]]:
    """Return judgments in three dimensions of pairs like the published ones, and by dimension what is so.

    The rows are those of ``validation.selectors.ratings.read_judgments``; worker ``n`` is rater ``n`` of the crowds.
    """
    rng = np.random.default_rng(seed)
    raters = _assigned(items, JUDGES, len(HABITS), rng)
    crowds = {
        dimension.value: _judged(rng.choice(len(mix), items, p=mix), raters, dimension, rng)
        for dimension, mix in PUBLISHED.items()
    }
    labels_by_dimension = {
        name: np.array(crowd.table.scale, dtype=object)[crowd.table.labels] for name, crowd in crowds.items()
    }
    rows = [
        JudgmentRow(
            "observation_review",
            f"pair-{row // JUDGES}",
            f"w{rater}",
            {name: str(labels[row]) for name, labels in labels_by_dimension.items()},
            worker=int(rater),
        )
        for row, rater in enumerate(raters.ravel().tolist())
    ]
    return rows, crowds


def _judged(truth: IntArray, raters: IntArray, dimension: Dimension, rng: np.random.Generator) -> Crowd:
    """Return what ``raters`` (items, judges) say of ``truth`` (items,)."""
    scale = tuple(reversed(SCALES[dimension]))
    items, judges = raters.shape
    at, who = np.repeat(np.arange(items), judges), raters.ravel()
    labels = np.empty(at.size, dtype=np.int64)
    for rater, habit in enumerate(HABITS):
        mine = who == rater
        labels[mine] = _draw_labels(habit, truth[at[mine]], len(scale), rng)
    names = tuple(f"w{rater}" for rater in range(len(HABITS)))
    values = np.arange(len(scale), dtype=np.float64)
    return Crowd(RatingTable(at, who, labels, tuple(range(items)), names, scale, values), truth, HABITS)


def _assigned(items: int, judges: int, raters: int, rng: np.random.Generator) -> IntArray:
    """Draw ``judges`` different raters for each item, in proportion to how busy they are: (items, judges)."""
    busy = np.exp(rng.uniform(np.log(0.35), np.log(2.8), raters))
    # The smallest of exponential waiting times are a draw without replacement in proportion to the rates.
    waits = rng.exponential(size=(items, raters)) / busy
    return np.argpartition(waits, judges, axis=1)[:, :judges].astype(np.int64)


def _draw_labels(habit: Habit, truth: IntArray, labels: int, rng: np.random.Generator) -> IntArray:
    if habit is Habit.CONSTANT:
        return np.full(len(truth), labels - 1)
    if habit is Habit.RANDOM:
        return rng.integers(labels, size=len(truth))
    skill = rng.uniform(*SKILL[habit])
    given = np.where(rng.random(len(truth)) < skill, truth, _neighbour(truth, labels, rng))
    return labels - 1 - given if habit is Habit.SWAPPED else given


def _neighbour(truth: IntArray, labels: int, rng: np.random.Generator) -> IntArray:
    """Return a label one step up or down: who errs rarely takes the best for the worst."""
    step = np.where(rng.random(len(truth)) < 0.5, -1, 1)
    step = np.where((truth + step < 0) | (truth + step >= labels), -step, step)
    return truth + step


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Shares, 0 to 1, of all items that a rule decided, and of the decided ones that it decided rightly."""

    decided: float
    right: float


def accuracy(crowd: Crowd, rule: DecisionRule, fit: dawid_skene.DawidSkene | None = None) -> Accuracy:
    """Return how well ``rule`` decides the crowd's items: a pair is good when its true label speaks for it."""
    good = np.isin([str(label) for label in crowd.table.scale], rule.positive)[crowd.truth]
    signs, _, _ = decide_as_arrays(crowd.table, rule, fit=fit)
    decided = signs != 0
    return Accuracy(float(decided.mean()), float(((signs == 1) == good)[decided].mean()))


def majority(dimension: Dimension = Dimension.REASONABLE) -> DecisionRule:
    """Return the rule that holds unless somebody chooses another."""
    return DEFAULT_RULES[dimension]


def weighted(threshold: float, dimension: Dimension = Dimension.REASONABLE) -> DecisionRule:
    """Return the rule that weighs judges by their reliability."""
    return DecisionRule(dimension.value, Method.WEIGHTED, majority(dimension).positive, threshold=threshold)


def expected_share(fit: dawid_skene.DawidSkene, table: RatingTable) -> NDArray[np.float64]:
    """Return the expected share of right labels among each rater's own, 0 to 1: what reliability is not."""
    right = fit.posteriors[table.items, table.labels]
    raters = len(table.rater_ids)
    return np.bincount(table.raters, right, raters) / np.bincount(table.raters, minlength=raters)


def misplaced(crowd: Crowd, values: NDArray[np.float64]) -> int:
    """Count the pairs of a careful person and another one of whom ``values`` (raters,) put the other one first."""
    careful = crowd.raters(Habit.CAREFUL)
    others = np.setdiff1d(np.arange(len(crowd.habits)), careful)
    return int((values[others][:, None] >= values[careful]).sum())
