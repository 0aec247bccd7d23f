"""Error analysis of the comparison task: selected images, classifiers, and worst mistakes."""

import numpy as np
import pytest

from curation.evaluation.comparison import ComparisonKey, RatedInstance, score_comparison
from curation.evaluation.errors import (
    FOLDS,
    PERMUTATIONS,
    cross_validated_auc,
    measure_outcomes,
    permutation_test,
    roc_auc,
    split_at_median,
    stratified_folds,
    worst_mistakes,
)
from curation.pipelines.evaluation.error_models import (
    prediction_auc,
    rotate_features,
)
from curation.records import InvalidInput


def rated(name: str, first: list[int], second: list[int]) -> RatedInstance:
    return RatedInstance(
        instance=name,
        test_ids=tuple(f"{name}-{at}" for at in range(len(first))),
        first=np.array(first, dtype=np.float64),
        second=np.array(second, dtype=np.float64),
    )


def key_of(*instances: RatedInstance) -> ComparisonKey:
    return ComparisonKey(tuple(i for one in instances for i in one.test_ids), instances)


def random_key(rng: np.random.Generator, images: int, agreement: float = 0.8) -> ComparisonKey:
    made = []
    for at in range(images):
        first = rng.integers(1, 4, size=10)
        second = np.where(rng.random(10) < agreement, first, rng.integers(1, 4, size=10))
        made.append(rated(f"i{at:03}", first.tolist(), second.tolist()))
    return key_of(*made)


def test_mean_of_outcomes_equals_the_official_figure() -> None:
    rng = np.random.default_rng(3)
    key = random_key(rng, 40)
    scores = {test_id: float(rng.integers(0, 5)) for test_id in key.test_ids}  # with ties
    official, found = score_comparison(scores, key), measure_outcomes(scores, key)
    assert np.mean([one.model for one in found]) == pytest.approx(official.model, abs=1e-9)
    assert np.mean([one.human for one in found]) == pytest.approx(official.human, abs=1e-9)


def test_instance_ordered_as_by_people_has_full_agreement() -> None:
    one = rated("a", [1, 2, 3], [1, 2, 3])
    (right,) = measure_outcomes({"a-0": 0.1, "a-1": 0.2, "a-2": 0.3}, key_of(one))
    (wrong,) = measure_outcomes({"a-0": 0.3, "a-1": 0.2, "a-2": 0.1}, key_of(one))
    assert (right.model, right.human) == (100.0, 100.0)
    assert wrong.model == -100.0


def test_equal_ratings_count_as_zero() -> None:
    (one,) = measure_outcomes({"a-0": 1.0, "a-1": 2.0}, key_of(rated("a", [2, 2], [2, 2])))
    assert (one.model, one.human) == (0.0, 0.0)


def test_a_missing_score_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no score for 'a-1'"):
        measure_outcomes({"a-0": 1.0}, key_of(rated("a", [1, 2], [1, 2])))


def test_median_groups_leave_out_images_without_agreement() -> None:
    rng = np.random.default_rng(5)
    key = random_key(rng, 60, agreement=0.6)
    found = measure_outcomes({test_id: float(rng.random()) for test_id in key.test_ids}, key)
    groups = split_at_median(found, min_agreement=30)
    assert all(one.human > 30 for one in groups.selected)
    assert len(groups.selected) == sum(one.human > 30 for one in found) < len(found) == groups.considered
    assert groups.median == np.median([one.model for one in groups.selected])
    assert [one.model > groups.median for one in groups.selected] == groups.above.tolist()


def test_images_at_the_median_go_where_groups_are_more_even() -> None:
    perfect = [rated(f"i{at:02}", [1, 2, 3], [1, 2, 3]) for at in range(12)]
    ways = [1.0] * 7 + [-1.0] * 5
    scores = {
        test_id: way * place
        for way, one in zip(ways, perfect, strict=True)
        for place, test_id in enumerate(one.test_ids)
    }
    groups = split_at_median(measure_outcomes(scores, key_of(*perfect)))
    assert groups.median == 100.0
    assert groups.above.tolist() == [way > 0 for way in ways]


def test_agreement_equal_to_the_threshold_is_excluded() -> None:
    perfect = [rated(f"i{at}", [1, 2, 3], [1, 2, 3]) for at in range(20)]
    scores = {i: float(at % 7) for at, i in enumerate(i for one in perfect for i in one.test_ids)}
    found = measure_outcomes(scores, key_of(*perfect))
    with pytest.raises(InvalidInput, match=r"^images: 0 of 20 have human agreement above 100"):
        split_at_median(found, min_agreement=100)


def test_too_few_images_are_refused() -> None:
    key = random_key(np.random.default_rng(1), 7, agreement=1)
    found = measure_outcomes(dict.fromkeys(key.test_ids, 0.0), key)
    with pytest.raises(
        InvalidInput, match=r"5 folds need 5 in each group; rate more sets or lower the threshold"
    ):
        split_at_median(found)


def test_folds_share_both_groups_evenly_and_repeat() -> None:
    labels = np.arange(53) % 3 == 0
    fold = stratified_folds(labels, rng=np.random.default_rng(0))
    assert sorted(set(fold.tolist())) == list(range(FOLDS))
    for group in (labels, ~labels):
        counts = np.bincount(fold[group], minlength=FOLDS)
        assert counts.max() - counts.min() <= 1
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(fold, stratified_folds(labels, rng=np.random.default_rng(0)))
    assert not np.array_equal(fold, stratified_folds(labels, rng=np.random.default_rng(1)))


def test_area_under_the_curve_equals_counting_pairs() -> None:
    rng = np.random.default_rng(2)
    labels, scores = rng.random(40) < 0.4, rng.integers(0, 6, size=40).astype(float)
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in scores[labels] for b in scores[~labels]]
    assert roc_auc(labels, scores) == pytest.approx(np.mean(pairs), abs=1e-12)
    assert roc_auc(labels, np.zeros(40)) == 0.5
    with pytest.raises(InvalidInput, match="both groups"):
        roc_auc(np.ones(3, dtype=bool), np.zeros(3))


def test_areas_of_folds_are_not_pooled() -> None:
    """A shift between folds must not count: each fold's model has its own zero."""
    labels = np.array([True, False] * 10)
    fold = np.repeat(np.arange(5), 4)
    scores = labels + 100.0 * fold
    area = cross_validated_auc(labels, scores, fold)
    assert area.value == 100.0
    assert area.folds == (100.0,) * 5


def excluded(seeds: int, images: int, wide: int, permutations: int) -> float:
    """Return the share of draws without any signal whose area lies outside of the band of chance."""
    outside = 0
    for seed in range(seeds):
        rng = np.random.default_rng([seed, images, wide])
        features, labels = rng.standard_normal((images, wide)), rng.permutation(images) % 2 == 0
        area = prediction_auc(features, labels, 0).value
        chance = permutation_test(
            labels,
            lambda permuted, features=features: prediction_auc(features, permuted, 0).value,
            observed=area,
            rng=rng,
            permutations=permutations,
        )
        outside += not chance.low <= area <= chance.high
    return outside / seeds


@pytest.mark.nightly
@pytest.mark.parametrize(("images", "wide"), [(69, 1), (69, 16), (300, 1)])
def test_chance_interval_has_its_nominal_coverage_without_signal(images: int, wide: int) -> None:
    assert 0.02 <= excluded(200, images, wide, 200) <= 0.09


def test_few_areas_lie_outside_the_chance_interval_without_signal() -> None:
    assert excluded(10, 60, 2, 39) <= 0.3  # 4 of 10 would be odd: p about .001


def test_planted_signal_is_found() -> None:
    """Normal features whose means lie apart by .74 have an area of 70."""
    rng = np.random.default_rng(8)
    labels = np.arange(300) % 2 == 0
    features = rng.standard_normal((300, 4))
    features[labels, 0] += 0.742
    area = prediction_auc(features, labels, 0).value
    chance = permutation_test(
        labels, lambda permuted: prediction_auc(features, permuted, 0).value, observed=area, rng=rng
    )
    assert area > chance.high
    assert chance.p == 1 / (1 + PERMUTATIONS)
    assert 60 < area < 80
    assert 35 < chance.low < 50 < chance.high < 62


def test_rotated_features_give_the_same_area() -> None:
    rng = np.random.default_rng(9)
    features, labels = rng.standard_normal((40, 90)), np.arange(40) % 2 == 0
    rotated = rotate_features(features)
    assert rotated.shape == (40, 40)
    assert prediction_auc(rotated, labels, 0).value == pytest.approx(
        prediction_auc(features, labels, 0).value, abs=1e-6
    )


def test_worst_mistakes_has_one_per_image() -> None:
    first = rated("a", [1, 1, 3, 2], [1, 2, 3, 2])
    second = rated("b", [3, 1, 2, 2], [3, 1, 2, 2])
    scores = {"a-0": 9.0, "a-1": 8.0, "a-2": 1.0, "a-3": 2.0, "b-0": 4.0, "b-1": 1.0, "b-2": 3.0, "b-3": 2.0}
    positives, negatives = worst_mistakes(scores, key_of(first, second))
    (positive,), (negative,) = positives, negatives  # b is ordered rightly
    assert (positive.test_id, positive.rank, positive.of, positive.ratings) == ("a-0", 1.0, 4, (1.0, 1.0))
    assert positive.gap == 1.0
    assert (negative.test_id, negative.rank, negative.ratings) == ("a-2", 4.0, (3.0, 3.0))


def test_mistakes_are_ordered_by_error_and_limited() -> None:
    rng = np.random.default_rng(6)
    key = random_key(rng, 30)
    scores = {test_id: float(rng.random()) for test_id in key.test_ids}
    positives, _ = worst_mistakes(scores, key, limit=5)
    assert len(positives) == 5
    assert [one.gap for one in positives] == sorted((one.gap for one in positives), reverse=True)
    assert all(sum(one.ratings) <= 3 for one in positives)


def test_a_constant_model_has_no_worst_mistake() -> None:
    key = random_key(np.random.default_rng(7), 10)
    assert worst_mistakes(dict.fromkeys(key.test_ids, 1.0), key) == ([], [])
