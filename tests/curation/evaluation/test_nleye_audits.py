"""Audits of image triplets: planted shortcuts are flagged, and sets without one are not."""

import json
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from curation.evaluation import nleye_classifier
from curation.evaluation.nleye_audit_features import (
    Production,
    negation_counts,
    production_features,
    word_counts,
)
from curation.evaluation.nleye_audits import (
    COMPONENTS,
    Audit,
    audit_agreement,
    audit_classifier,
    audit_direction,
    audit_hypotheses_only,
    audit_label_balance,
    audit_likeness,
    audit_mixed,
    audit_style,
)
from curation.evaluation.nleye_classifier import held_out_accuracy
from curation.evaluation.nleye_key import TripletKey
from curation.records import InvalidInput
from tests.support.nleye_answers import make_key
from tests.support.nleye_planted import (
    TRIPLETS,
    make_balanced_key,
    make_pixel_figures,
    make_production,
    make_vectors,
)


def _json(audit: Audit) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(audit.as_json(), allow_nan=False))
    return found


def _classifiers(seed: int) -> list[Audit]:
    """Return the three classifiers' audits of a set without a shortcut."""
    rng = np.random.default_rng(seed)
    key = make_balanced_key(TRIPLETS, rng)
    return [
        audit_classifier("pixels", key, make_pixel_figures(key, rng)),
        audit_classifier("production", key, make_production(key, rng)),
        audit_classifier("image_vectors", key, make_vectors(key, rng), components=COMPONENTS),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_classifier_flags_planted_brightness_of_one_standard_deviation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    key = make_balanced_key(TRIPLETS, rng)
    found = _json(audit_classifier("pixels", key, make_pixel_figures(key, rng, brightness_shift=1)))
    assert found["flagged"]
    assert found["figure"] == pytest.approx(76, abs=6)  # Φ(1 / √2)
    assert 50 < found["low"] < found["figure"] < found["high"]
    assert found["p"] == pytest.approx(1 / 501)
    assert (found["n"], found["chance"], len(found["worst"])) == (TRIPLETS, 50, 10)
    assert f"{found['figure']:.1f} %" in found["why"]


def test_classifiers_flag_planted_production_and_image_vectors() -> None:
    rng = np.random.default_rng(5)
    key = make_balanced_key(TRIPLETS, rng)
    assert audit_classifier("production", key, make_production(key, rng, extra_edits=2)).flagged
    vectors = make_vectors(key, rng, shift=1)
    assert audit_classifier("image_vectors", key, vectors, components=COMPONENTS).flagged


@pytest.mark.parametrize("seed", range(2))
def test_classifiers_flag_no_set_without_a_shortcut(seed: int) -> None:
    assert [audit.name for audit in _classifiers(seed) if audit.flagged] == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_classifiers_flag_none_of_twenty_sets_without_a_shortcut(seed: int) -> None:
    assert [audit.name for audit in _classifiers(100 + seed) if audit.flagged] == []


def test_a_small_p_alone_is_not_flagged() -> None:
    rng = np.random.default_rng(8)
    key = make_balanced_key(3000, rng)
    found = audit_classifier("pixels", key, make_pixel_figures(key, rng, brightness_shift=0.25), swaps=200)
    assert found.p is not None
    assert found.p < 0.01
    assert found.figure is not None
    assert 50 < found.figure < 60
    assert not found.flagged


def test_the_worst_triplets_are_those_that_give_most_away() -> None:
    rng = np.random.default_rng(2)
    key = make_balanced_key(100, rng)
    features = make_pixel_figures(key, rng, brightness_shift=1)
    features[7, key.golds[7] - 1, 0] = 3.0
    assert audit_classifier("pixels", key, features).worst[0] == key.ids[7]


def test_the_order_of_triplets_changes_no_audit() -> None:
    rng = np.random.default_rng(3)
    key = make_balanced_key(60, rng)
    features = make_pixel_figures(key, rng)
    order = rng.permutation(60)
    shuffled = key.take(order)
    assert audit_classifier("x", key, features, swaps=50) == audit_classifier(
        "x", shuffled, features[order], swaps=50
    )
    assert audit_likeness(key, features[..., 0]) == audit_likeness(shuffled, features[order][..., 0])


@pytest.mark.parametrize("components", [None, 5])
def test_observed_margins_equal_those_of_scikit_learn(
    monkeypatch: pytest.MonkeyPatch, components: int | None
) -> None:
    monkeypatch.setattr(nleye_classifier, "TOLERANCE", 1e-9)
    monkeypatch.setattr(nleye_classifier, "MAX_STEPS", 5000)
    rng = np.random.default_rng(4)
    key = make_balanced_key(50, rng)
    features = make_vectors(key, rng, size=12, shift=0.7)
    found = held_out_accuracy(
        features, key.golds, rng=np.random.default_rng(9), components=components, swaps=3
    )
    folds = np.empty(50, dtype=int)
    folds[np.random.default_rng(9).permutation(50)] = np.arange(50) % 5
    signs = np.where(key.golds == 1, 1, -1)
    for fold in range(5):
        train, test = features[folds != fold], features[folds == fold]
        rows = train.reshape(-1, 12)
        if components:
            reducer = PCA(components, svd_solver="full").fit(rows)
            rows, test = reducer.transform(rows), reducer.transform(test.reshape(-1, 12)).reshape(-1, 2, 5)
        scaler = StandardScaler().fit(rows)
        labels = np.column_stack([signs[folds != fold] > 0, signs[folds != fold] < 0]).ravel()
        model = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(scaler.transform(rows), labels)
        first, second = (model.decision_function(scaler.transform(test[:, side])) for side in (0, 1))
        expected = (first - second) * signs[folds == fold]
        assert found.margins[folds == fold] == pytest.approx(expected, abs=1e-5)


def test_folds_never_split_a_triplet() -> None:
    # The hypotheses of a triplet are alike and differ from all others: only a split triplet could be told.
    n = 40
    key = make_balanced_key(n, np.random.default_rng(1))
    features = np.repeat(np.eye(n)[:, None], 2, axis=1)
    found = held_out_accuracy(features, key.golds, rng=np.random.default_rng(0), swaps=20)
    assert found.accuracy == 0.5
    assert np.all(found.margins == 0)


def test_permutation_p_is_uniform_without_a_shortcut() -> None:
    ps = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        key = make_balanced_key(40, rng)
        ps.append(held_out_accuracy(rng.normal(size=(40, 2, 3)), key.golds, rng=rng, swaps=60).p)
    assert np.mean(ps) == pytest.approx(0.53, abs=0.13)
    assert np.mean(np.array(ps) < 0.25) == pytest.approx(0.25, abs=0.2)


def test_classifier_input_is_checked() -> None:
    key = make_balanced_key(20, np.random.default_rng(1))
    with pytest.raises(InvalidInput, match="give \\(triplets, 2, features\\) of 20 triplets"):
        audit_classifier("x", key, np.zeros((20, 3)))
    with pytest.raises(InvalidInput, match="not a finite number"):
        audit_classifier("x", key, np.full((20, 2, 1), np.nan))
    few = audit_classifier("x", key.take([0, 1, 2]), np.zeros((3, 2, 1)))
    assert (few.figure, few.flagged) == (None, False)
    assert "too few triplets" in few.why


@pytest.mark.parametrize(("share", "flagged"), [(0.75, True), (0.5, False)])
@pytest.mark.parametrize("seed", range(3))
def test_hypotheses_only_crowd(share: float, flagged: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = [f"t{i % 100}" for i in range(300)]
    right = (rng.random(300) < share).tolist()
    found = _json(audit_hypotheses_only("people_without_premise", ids, right))
    assert found["flagged"] is flagged
    assert found["figure"] == pytest.approx(100 * np.mean(right))
    assert found["low"] < found["figure"] < found["high"]
    assert (found["n"], found["details"]["answers"]) == (100, 300)
    by_triplet = {name: np.mean([r for i, r in zip(ids, right, strict=True) if i == name]) for name in ids}
    assert by_triplet[found["worst"][0]] == max(by_triplet.values())


def test_hypotheses_only_needs_an_interval() -> None:
    found = audit_hypotheses_only("few", ["a", "b", "c"], [True, True, False])
    assert (found.figure, found.low, found.flagged) == (pytest.approx(200 / 3), None, False)
    assert "too few triplets for an interval" in found.why
    assert audit_hypotheses_only("none", [], []).why == "There is nothing to measure."


@pytest.mark.parametrize(("count", "flagged"), [(7, False), (8, True), (200, True)])
def test_triplets_that_are_all_alike_are_judged_by_an_exact_test(count: int, flagged: bool) -> None:
    """No interval can be drawn from them; two coins that fall alike 8 times have p = 2/256 < .01."""
    ids = [str(i) for i in range(count)]
    crowd = audit_hypotheses_only("crowd", ids, [True] * count)
    assert (crowd.figure, crowd.low, crowd.flagged) == (100.0, None, flagged)
    assert f"All are alike, so the exact p counts (p = {2 * 0.5**count:.4f})." in crowd.why
    assert not audit_hypotheses_only("crowd", ids, [False] * count).flagged
    key = make_key({"id": name, "gold": 1} for name in ids)
    values = np.zeros((count, 2))
    values[:, 1] = 1
    assert audit_likeness(key, values).flagged == audit_likeness(key, -values).flagged == flagged


def test_likeness_is_flagged_in_both_directions() -> None:
    rng = np.random.default_rng(1)
    key = make_balanced_key(200, rng)
    likeness = rng.random((200, 2))
    assert not audit_likeness(key, likeness).flagged
    rows = np.arange(200)
    likeness[rows, key.golds - 1] += 0.4
    nearer = audit_likeness(key, likeness)
    farther = audit_likeness(key, -likeness)
    assert nearer.flagged
    assert farther.flagged
    assert nearer.figure is not None
    assert farther.figure == pytest.approx(100 - nearer.figure)
    assert nearer.worst == farther.worst
    assert "Gold is nearer to the premise in" in nearer.why


def test_equal_values_count_half() -> None:
    key = make_key({"id": str(i), "gold": 1} for i in range(20))
    values = np.zeros((20, 2))
    values[:4, 0] = 1
    found = audit_direction("negations", key, values, what="has more negations")
    assert found.figure == pytest.approx(100 * (4 + 8) / 20)
    assert found.details == {"ties": 16}
    with pytest.raises(InvalidInput, match="negations: give two finite values for each of 20 triplets"):
        audit_direction("negations", key, values[:3], what="has more negations")


def test_style_distances_of_gold_and_other_should_be_equal() -> None:
    rng = np.random.default_rng(2)
    key = make_balanced_key(120, rng)
    distances = rng.random((120, 2))
    assert not audit_style(key, distances).flagged
    distances[np.arange(120), 2 - key.golds] += 0.5
    assert audit_style(key, distances).flagged


def test_label_balance_by_category() -> None:
    balanced = audit_label_balance(make_balanced_key(120, np.random.default_rng(1)))
    assert [audit.name for audit in balanced[:2]] == ["label_balance", "label_balance: physical"]
    assert len(balanced) == 7
    assert not any(audit.flagged for audit in balanced)
    assert {audit.figure for audit in balanced} == {50.0}
    rows = [(f"s{i}", 1, "social", "other", "parallel") for i in range(14)]
    rows += [(f"l{i}", 2, "logical", "other", "parallel") for i in range(14)]
    found = audit_label_balance(TripletKey.from_rows(rows))
    assert [(audit.name, audit.flagged) for audit in found] == [
        ("label_balance", False),
        ("label_balance: logical", True),
        ("label_balance: social", True),
    ]
    assert found[2].p == pytest.approx(2 * 0.5**14)
    assert "Gold is h1 in 14 of 14 triplets" in found[2].why


def test_triplets_of_mixed_making_are_flagged() -> None:
    key = make_key({"id": name, "gold": 1} for name in ("c", "a", "b"))
    values = [("sdxl", "sdxl", "flux"), ("sdxl",) * 3, ("a", "b", "b")]
    found = audit_mixed("mixed_generators", key, values, what="generators")
    assert (found.flagged, found.worst, found.figure) == (True, ("b", "c"), pytest.approx(200 / 3))
    assert found.why.startswith("2 of 3 triplets have images of different generators")
    assert not audit_mixed("sizes", key, [("1024",) * 3] * 3, what="sizes").flagged


def _counts(n: int, seed: int, noise: float) -> np.ndarray:
    """Return label counts of three people who choose gold, at random with a share of noise."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((n, 3), dtype=np.int64)
    for row in range(n):
        for _ in range(3):
            counts[row, row % 2 if rng.random() >= noise else rng.integers(0, 2)] += 1
    return counts


def test_agreement_by_group_flags_the_group_that_agrees_less() -> None:
    groups = {
        "social": ([f"s{i}" for i in range(80)], _counts(80, 1, 0.1)),
        "cultural": ([f"c{i}" for i in range(80)], _counts(80, 2, 0.9)),
        "emotional": ([], np.zeros((0, 3), dtype=np.int64)),
        "physical": (["p1", "p2"], np.array([[2, 1, 0], [1, 2, 0]])),
    }
    found = audit_agreement(groups, name="agreement by category")
    assert [(audit.name, audit.flagged) for audit in found] == [
        ("agreement by category", False),
        ("agreement by category: social", False),
        ("agreement by category: cultural", True),
        ("agreement by category: emotional", False),
        ("agreement by category: physical", False),  # two triplets tell nothing sure
    ]
    everything, social, cultural, emotional, physical = map(_json, found)
    assert everything["n"] == 162
    assert physical["high"] < everything["figure"]
    assert cultural["figure"] < everything["figure"] < social["figure"]
    assert emotional["figure"] is None
    assert social["unit"] == "alpha"
    unanimous = 100 * (groups["social"][1].max(axis=1) == 3).mean()
    assert social["details"]["unanimous"] == pytest.approx(unanimous)


def test_agreement_of_countries_adds_up_the_answers_to_a_triplet() -> None:
    ids = ["a", "b", "c"]
    found = audit_agreement(
        {
            "GB": (ids, np.array([[2, 0, 0], [0, 2, 0], [2, 0, 0]])),
            "IN": (ids[:2], np.array([[1, 0, 0], [1, 0, 0]])),
        }
    )
    assert (found[0].n, found[0].details["answers"], found[0].details["three_answers"]) == (3, 8, 2)
    assert found[0].details["unanimous"] == 50
    assert found[0].worst == ("b",)
    assert found[1].figure == 1
    assert found[2].figure is None


def test_features_of_texts_and_of_production() -> None:
    texts = [("A wet floor isn't dry.", "No sign"), ("Nothing, and nobody left", "It doesn’t rain")]
    assert word_counts(texts).tolist() == [[5, 2], [4, 3]]
    assert negation_counts(texts).tolist() == [[1, 1], [2, 1]]
    made = Production("sdxl", 3, 0, 1000), Production("flux", 1, 2, 10)
    features = production_features([made])
    assert features.shape == (1, 2, 5)
    assert features[0, :, 3:].tolist() == [[0, 1], [1, 0]]
    assert features[0, 0, :3] == pytest.approx(np.log([4, 1, 1001]))
