"""The threshold of interestingness: its figures on unseen films, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.interest.counts import fit_counts
from curation.interest.threshold import (
    MIN_KEPT,
    NoThreshold,
    Threshold,
    check_labels,
    choose_threshold,
    film_folds,
    out_of_fold_scores,
    thin_curve,
    thresholds,
)
from curation.records import InvalidInput
from tests.support.curation.interest_counts import LabelledImages, noise, planted
from validation.domain.reports.planner import wilson_interval

SEEDS = range(20)


def chosen(images: LabelledImages, **options: float) -> Threshold:
    """Return the threshold that five folds by film give a counts model."""

    def fit_and_score(train: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        return fit_counts(images.counts[train], images.interesting[train]).scores(images.counts[held_out])

    scores = out_of_fold_scores(film_folds(images.films), fit_and_score)
    return choose_threshold(thresholds(scores, images.interesting), **options)


def test_choose_threshold_planted_counts_is_precise_on_unseen_films() -> None:
    precisions, within = [], 0
    for seed in SEEDS:
        images, unseen = planted(seed), planted(1000 + seed)
        threshold = chosen(images)
        assert threshold.precision >= 0.7
        assert threshold.recall > 0.1
        model = fit_counts(images.counts, images.interesting)
        kept = model.scores(unseen.counts) >= threshold.score
        precision = unseen.interesting[kept].mean()
        assert precision > unseen.interesting.mean() + 0.1, "the threshold selects"
        within += wilson_interval(int(kept.sum()), precision).high >= 0.7
        precisions.append(precision)
    # Threshold and precision are both estimates, so a 95 % interval of one of them misses a little more often.
    assert within >= 17
    assert np.mean(precisions) >= 0.69, "unbiased: the choice costs less than a point"


def test_choose_threshold_pure_noise_is_refused_with_the_best_one() -> None:
    for seed in SEEDS:
        with pytest.raises(NoThreshold, match=r"the best, 0\.\d{3}, has 0\.\d{3}") as caught:
            chosen(noise(seed))
        best = caught.value.best
        assert best.kept >= MIN_KEPT
        assert 0.45 <= best.precision < 0.7


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=60), st.integers(1, 20))
def test_choose_threshold_any_scores_equals_counting(rows: list[tuple[int, bool]], min_kept: int) -> None:
    scores = np.array([score / 8 for score, _ in rows])
    interesting = np.array([label for _, label in rows])
    kept_at = {score: interesting[scores >= score] for score in sorted(set(scores))}
    wide = {score: kept for score, kept in kept_at.items() if len(kept) >= min_kept}
    precise = [score for score, kept in wide.items() if kept.mean() >= 0.7]
    curve = thresholds(scores, interesting)
    assert [point.score for point in curve] == sorted(kept_at, reverse=True)
    if precise:
        found = choose_threshold(curve, min_kept=min_kept)
        assert found.score == min(precise)
        assert (found.kept, found.interesting) == (len(wide[found.score]), wide[found.score].sum())
    elif wide:
        with pytest.raises(NoThreshold) as caught:
            choose_threshold(curve, min_kept=min_kept)
        assert caught.value.best.precision == max(kept.mean() for kept in wide.values())
    else:
        with pytest.raises(InvalidInput, match=f"no threshold keeps {min_kept} labelled images"):
            choose_threshold(curve, min_kept=min_kept)


def test_threshold_as_json_has_counts_shares_and_interval() -> None:
    row = Threshold(score=0.4, kept=100, interesting=80, labelled=400, all_interesting=160).as_json()
    assert (row["precision"], row["recall"], row["share_kept"]) == (0.8, 0.5, 0.25)
    assert row["interval"] == pytest.approx([0.7112, 0.8666], abs=1e-4)  # Wilson 1927 for 80 of 100


@given(st.lists(st.integers(0, 9), min_size=10, max_size=80), st.integers(0, 5))
def test_film_folds_any_films_keeps_each_film_in_one_fold(numbers: list[int], seed: int) -> None:
    films = [f"f{number}" for number in [*range(5), *numbers]]
    folds = film_folds(films, seed=seed)
    assert set(folds) == set(range(5))
    for film in set(films):
        assert len({fold for fold, name in zip(folds, films, strict=True) if name == film}) == 1
    assert folds.tolist() == film_folds(films, seed=seed).tolist()


def test_film_folds_equal_films_fills_folds_equally() -> None:
    films = [f"f{number}" for number in range(25) for _ in range(4)]
    assert np.bincount(film_folds(films)).tolist() == [20] * 5
    assert film_folds(films, seed=1).tolist() != film_folds(films, seed=2).tolist()


@pytest.mark.parametrize(("films", "folds"), [(["a", "b", "c", "d"], 5), (["a", "b"], 1)])
def test_film_folds_too_few_is_refused(films: list[str], folds: int) -> None:
    with pytest.raises(InvalidInput, match=r"label images of more films|folds: 1 is below 2"):
        film_folds(films, folds)


def test_out_of_fold_scores_come_from_models_without_the_film() -> None:
    films = [f"f{number % 7}" for number in range(70)]

    def fit_and_score(train: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        seen = {films[row] for row in train}
        assert not seen & {films[row] for row in held_out}
        assert len(seen) == 7 - len({films[row] for row in held_out})
        return held_out.astype(float)

    assert out_of_fold_scores(film_folds(films), fit_and_score).tolist() == list(range(70))


def test_check_labels_too_few_of_a_class_is_refused_with_both_numbers() -> None:
    check_labels(np.array([True] * 50 + [False] * 50))
    with pytest.raises(InvalidInput, match="60 images are interesting and 49 are not; label at least 50"):
        check_labels(np.array([True] * 60 + [False] * 49))


@pytest.mark.parametrize("precision", [0.0, 1.01, float("nan")])
def test_choose_threshold_impossible_precision_is_refused(precision: float) -> None:
    with pytest.raises(InvalidInput, match="min precision"):
        choose_threshold([Threshold(0.5, 60, 50, 60, 50)], min_precision=precision)


def test_thin_curve_keeps_the_ends() -> None:
    curve = [Threshold(1 - n / 1000, n + 1, 1, 1000, 1) for n in range(1000)]
    thin = thin_curve(curve, 100)
    assert len(thin) <= 101
    assert (thin[0], thin[-1]) == (curve[0], curve[-1])
    assert thin_curve(curve[:3], 100) == curve[:3]
