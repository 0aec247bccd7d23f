"""Dawid and Skene's model against crowd-kit, and what it must do by itself."""

import doctest
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import DawidSkene as CrowdKit

from validation.domain.agreement import dawid_skene
from validation.domain.agreement.dawid_skene import DawidSkene, fit, rater_reliabilities
from validation.domain.judging.ratings import RatingTable

# crowd-kit calls pandas as earlier versions of it liked to be called
pytestmark = pytest.mark.filterwarnings("ignore:The (inplace|copy) keyword")


def random_table(seed: int) -> RatingTable:
    """Return a table of 2 to 5 labels, 3 to 30 raters and 1 to 8 ratings an item, some raters worse than chance."""
    rng = np.random.default_rng(seed)
    labels, raters, items = (int(rng.integers(*span)) for span in ((2, 6), (3, 31), (10, 300)))
    truth = rng.choice(labels, items, p=rng.dirichlet(np.full(labels, 2.0)))
    skill = rng.random((raters, 1, 1))
    errors = 0.6 * rng.dirichlet(np.ones(labels), (raters, labels)) + 0.8 * skill * np.eye(labels)
    errors /= errors.sum(axis=2, keepdims=True)
    rows = [
        (f"item {item}", f"rater {rater}", int(rng.choice(labels, p=errors[rater, truth[item]])))
        for item in range(items)
        for rater in rng.choice(raters, int(rng.integers(1, min(raters, 8) + 1)), replace=False)
    ]
    return RatingTable.from_rows([rows[at] for at in rng.permutation(len(rows))], range(labels))


def crowd_kit(table: RatingTable, iterations: int = 100, tolerance: float = 1e-5) -> CrowdKit:
    frame = pd.DataFrame({"task": table.items, "worker": table.raters, "label": table.labels})
    return CrowdKit(n_iter=iterations, tol=tolerance).fit(frame)


def assert_same(found: DawidSkene, theirs: CrowdKit) -> None:
    """Compare posteriors, priors and errors; crowd-kit has no rows for what nobody said, where ours are 0."""
    seen = list(theirs.probas_.columns)
    assert found.posteriors[:, seen] == pytest.approx(theirs.probas_.sort_index().to_numpy(), abs=1e-6)
    assert found.priors[seen] == pytest.approx(theirs.priors_.loc[seen].to_numpy(), abs=1e-6)
    assert found.posteriors.sum(axis=1) == pytest.approx(1)
    expected = np.zeros_like(found.errors)
    for (rater, given), row in theirs.errors_.iterrows():
        expected[rater, seen, given] = row[seen].to_numpy()
    assert found.errors[:, seen] == pytest.approx(expected[:, seen], abs=1e-6)


@pytest.mark.parametrize("seed", range(25))
def test_equals_crowd_kit(seed: int) -> None:
    table = random_table(seed)
    found, theirs = fit(table), crowd_kit(table)
    assert found.iterations == len(theirs.loss_history_)
    assert_same(found, theirs)


@pytest.mark.parametrize("iterations", [1, 2, 40])
def test_equals_crowd_kit_after_a_given_number_of_iterations(iterations: int) -> None:
    table = random_table(8)  # one whose bound falls early, so that the stop has a part in it
    found = fit(table, iterations=iterations, tolerance=-np.inf)
    assert found.iterations == iterations
    assert_same(found, crowd_kit(table, iterations, -np.inf))


def test_the_likelihood_is_that_of_what_is_returned_and_grows() -> None:
    table = random_table(3)
    fits = [fit(table, iterations=n, tolerance=-np.inf) for n in range(1, 30)]
    likelihoods = [found.log_likelihood for found in fits]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(likelihoods))
    found = fits[-1]
    whole = 0.0
    for item in range(len(table.item_ids)):
        terms = found.priors.copy()
        for rater, label in zip(
            table.raters[table.items == item], table.labels[table.items == item], strict=True
        ):
            terms *= found.errors[rater, :, label]
        whole += np.log(terms.sum())
    assert found.log_likelihood == pytest.approx(whole, abs=1e-6)


def test_the_order_of_rows_does_not_matter_and_the_same_table_gives_the_same_bits() -> None:
    table = random_table(11)
    shuffled = np.random.default_rng(0).permutation(table.size)
    turned = RatingTable(
        table.items[shuffled],
        table.raters[shuffled],
        table.labels[shuffled],
        table.item_ids,
        table.rater_ids,
        table.scale,
        table.values,
    )
    assert np.array_equal(fit(table).posteriors, fit(table).posteriors)
    assert fit(turned).posteriors == pytest.approx(fit(table).posteriors, abs=1e-9)
    assert fit(turned).errors == pytest.approx(fit(table).errors, abs=1e-9)


def test_labels_items_and_raters_without_ratings() -> None:
    """A table of some of the ratings keeps all ids; what is left out has no part in the fit."""
    full = RatingTable.from_rows(
        [
            ("a", "x", "low"),
            ("a", "y", "low"),
            ("b", "x", "high"),
            ("b", "y", "high"),
            ("c", "z", "high"),
        ],
        ("low", "middle", "high"),
    )
    part = full.where(full.raters < 2)
    found = fit(part)
    assert found.priors == pytest.approx([0.5, 0, 0.5])
    assert found.posteriors == pytest.approx(np.array([[1, 0, 0], [0, 0, 1], [0.5, 0, 0.5]]))
    assert found.errors[2] == pytest.approx(np.full((3, 3), 1 / 3))  # z judged nothing of this
    assert found.errors[0, 1] == pytest.approx(np.full(3, 1 / 3))  # nothing was in the middle
    assert found.errors.sum(axis=2) == pytest.approx(np.ones((3, 3)))
    assert np.isnan(rater_reliabilities(found, part)).tolist() == [False, False, True]


def test_fit_of_an_empty_table() -> None:
    empty = RatingTable.from_rows([], ("no", "yes"))
    found = fit(empty)
    assert (found.iterations, found.log_likelihood) == (0, 0.0)
    assert found.priors.tolist() == [0.5, 0.5]
    assert found.posteriors.shape == (0, 2)
    assert rater_reliabilities(found, empty).shape == (0,)
    left = random_table(0).where(np.zeros(random_table(0).size, dtype=bool))
    assert np.isnan(rater_reliabilities(fit(left), left)).all()


def test_smoothing_keeps_labels_possible_that_a_rater_never_gave() -> None:
    rows = [(item, rater, "yes") for item in range(4) for rater in "ab"] + [(4, "a", "no"), (4, "c", "no")]
    table = RatingTable.from_rows(rows, ("no", "yes"))
    assert fit(table).errors[1, :, 0] == pytest.approx(0)  # b never said no
    smoothed = fit(table, smoothing=1.0).errors
    assert smoothed.min() > 0.05
    assert smoothed.sum(axis=2) == pytest.approx(1)
    # b called four items yes: (4 + 1) of (4 + 2) under a truth of yes.
    assert smoothed[1, 1, 1] == pytest.approx(5 / 6, abs=0.02)


@pytest.mark.parametrize(("iterations", "smoothing"), [(0, 0.0), (10, -0.1)])
def test_invalid_settings_are_refused(iterations: int, smoothing: float) -> None:
    with pytest.raises(ValueError, match="use at least"):
        fit(random_table(0), iterations=iterations, smoothing=smoothing)


def test_items_with_more_ratings_than_layers_equal_crowd_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(12)
    assert np.bincount(table.items).max() > 3
    plain = fit(table)
    monkeypatch.setattr(dawid_skene, "MAX_LAYERS", 3)
    assert_same(fit(table), crowd_kit(table))
    assert fit(table).posteriors == pytest.approx(plain.posteriors, abs=1e-9)


def test_posteriors_do_not_underflow_with_hundreds_of_ratings() -> None:
    """Products of 2,000 probabilities are far below the smallest number a float can hold."""
    rows = [(item, rater, (item + (rater % 5 == 0)) % 2) for item in range(4) for rater in range(2_000)]
    found = fit(RatingTable.from_rows(rows, (0, 1)))
    assert np.isfinite(found.log_likelihood)
    assert found.posteriors.argmax(axis=1).tolist() == [0, 1, 0, 1]


def test_reliability_is_kappa_with_the_truth() -> None:
    """With a truth beyond doubt it is Cohen's kappa, counted here by hand, drawn towards the crowd's."""
    truth = [0, 1] * 50
    rows = [(item, f"sure {n}", label) for item, label in enumerate(truth) for n in range(9)]
    rows += [(item, "yes always", 1) for item in range(100)]
    rows += [(item, "upside down", 1 - label) for item, label in enumerate(truth)]
    rows += [(item, "begins", label) for item, label in enumerate(truth[:2])]
    table = RatingTable.from_rows(rows, (0, 1))
    values = dict(zip(table.rater_ids, rater_reliabilities(fit(table), table), strict=True))
    crowd = np.array([[450 + 0 + 0 + 1, 50 + 50], [50, 450 + 50 + 1]]) / 1102  # [truth, given]

    def kappa(own: list[list[int]]) -> float:
        mixed = np.array(own) + dawid_skene.PRIOR_RATINGS * crowd
        mixed /= mixed.sum()
        chance = mixed.sum(axis=0) @ mixed.sum(axis=1)
        return float((np.trace(mixed) - chance) / (1 - chance))

    assert values["sure 0"] == pytest.approx(kappa([[50, 0], [0, 50]]), abs=1e-6)
    assert values["yes always"] == pytest.approx(kappa([[0, 50], [0, 50]]), abs=1e-6)
    assert values["upside down"] == pytest.approx(kappa([[0, 50], [50, 0]]), abs=1e-6)
    assert values["begins"] == pytest.approx(kappa([[1, 0], [0, 1]]), abs=1e-6)
    assert values["upside down"] < -0.5 < values["yes always"] < 0.2 < values["begins"] < values["sure 0"]


def test_reliability_needs_others_on_the_same_items() -> None:
    rows = [(item, rater, item % 2) for item in range(10) for rater in "ab"]
    rows += [(100 + item, "alone", item % 2) for item in range(10)]
    table = RatingTable.from_rows(rows, (0, 1))
    assert np.isnan(rater_reliabilities(fit(table), table)).tolist() == [False, False, True]


def test_reliability_of_unanimous_raters_is_undefined() -> None:
    table = RatingTable.from_rows([(item, rater, 1) for item in range(10) for rater in "ab"], (0, 1))
    assert np.isnan(rater_reliabilities(fit(table), table)).all()


def test_a_fit_of_another_table_is_refused() -> None:
    with pytest.raises(ValueError, match="other items, raters or labels"):
        rater_reliabilities(fit(random_table(0)), random_table(1))


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(dawid_skene).failed == 0


@pytest.mark.nightly
def test_a_million_labels_take_less_than_ten_seconds() -> None:
    from tests.benchmarks.judging import million

    table = million()
    assert table.size == 1_000_000
    started = time.process_time()
    found = fit(table, tolerance=-np.inf)
    assert found.iterations == 100
    assert time.process_time() - started < 10
