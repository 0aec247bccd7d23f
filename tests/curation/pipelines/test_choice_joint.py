"""Choosing all responses of a fold together: each response is used once, and a model gains without an image."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

from curation.evaluation.choice_items import Stage, StageChoices
from curation.evaluation.choices import ChoiceKey, ChoicePredictions
from curation.pipelines.choice_joint import choose_jointly, joint_figures
from curation.records import InvalidInput


def _fold(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and labels of a fold: each question has its own response and those of three others."""
    shifts = np.array([0, *(1 + rng.choice(n - 1, size=3, replace=False))])
    order = np.array([rng.permutation(4) for _ in range(n)])
    return (np.arange(n)[:, None] + shifts[order]) % n, order.argmin(axis=1)


def _key(sources: np.ndarray, labels: np.ndarray, folds: list[str]) -> ChoiceKey:
    rows = [
        StageChoices((), label, tuple(row))
        for row, label in zip(sources.tolist(), labels.tolist(), strict=True)
    ]
    ids = [f"q{number}" for number in range(len(rows))]
    return ChoiceKey.from_rows(ids, ids, folds, {Stage.ANSWER: rows, Stage.RATIONALE: rows})


@pytest.mark.parametrize("seed", range(5))
def test_joint_choice_has_the_greatest_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sources, _ = _fold(6, rng)
    scores = rng.normal(size=(6, 4))
    values = log_softmax(scores, axis=1)
    best = max(
        (
            positions
            for positions in itertools.product(range(4), repeat=6)
            if len(set(sources[range(6), positions])) == 6
        ),
        key=lambda positions: values[range(6), positions].sum(),
    )
    assert choose_jointly(scores, sources).tolist() == list(best)


def test_weak_model_gains_much_by_choosing_together() -> None:
    rng = np.random.default_rng(0)
    n = 2000
    sources, labels = _fold(n, rng)
    scores = rng.normal(size=(n, 4))
    scores[np.arange(n), labels] += 1.0
    predictions = ChoicePredictions(scores, np.repeat(scores[:, None], 4, axis=1))
    found = joint_figures(_key(sources, labels, ["val-0"] * n), predictions)
    for stage in Stage:
        assert found[stage]["questions"] == n
        assert found[stage]["folds"] == 1
        assert found[stage]["lift"] == pytest.approx(found[stage]["together"] - found[stage]["alone"])
        assert found[stage]["lift"] > 5


def test_incomplete_fold_leaves_responses_unused() -> None:
    rng = np.random.default_rng(0)
    sources, labels = _fold(40, rng)
    kept = np.r_[0:10, 12:40]
    scores = np.eye(4)[labels[kept]] * 9
    assert choose_jointly(scores, sources[kept]).tolist() == labels[kept].tolist()


def test_questions_without_sources_are_left_out_or_refused() -> None:
    rng = np.random.default_rng(0)
    sources, labels = _fold(12, rng)
    sources = np.vstack([sources, np.full((1, 4), -1)])
    labels = np.append(labels, 0)
    scores = np.eye(4)[labels]
    predictions = ChoicePredictions(scores, np.repeat(scores[:, None], 4, axis=1))
    found = joint_figures(_key(sources, labels, ["a"] * 13), predictions)
    assert found["answer"] == {"alone": 100.0, "together": 100.0, "lift": 0.0, "questions": 12, "folds": 1}
    with pytest.raises(InvalidInput, match="no answer has a match fold and sources"):
        joint_figures(_key(sources, labels, [""] * 13), predictions)


def test_too_few_responses_name_the_fold() -> None:
    with pytest.raises(InvalidInput, match="fold a: 5 questions share 4 responses"):
        choose_jointly(np.zeros((5, 4)), np.tile(np.arange(4), (5, 1)), "fold a")
