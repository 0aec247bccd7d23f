"""Rounds: what a query may get, shortlists that are widened, listed pairs alone, and weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from curation.matching.copies import excess_copies, groups_of_copies, label_copies
from curation.matching.match import match_buckets
from curation.matching.options import MatchOptions, SameImageRule, ShortlistBy, ShortlistOptions
from curation.matching.rounds import (
    DenseWeights,
    MatchResult,
    PairRules,
    PairWeights,
    match_dense,
    match_rounds,
)
from curation.matching.shortlists import pair_rows, shortlist_pairs
from curation.matching.weights import check_probabilities, check_similarity, symmetric_similarity, weigh
from curation.records import InvalidInput
from tests.support.vcr.matching import make_scores

OPTIONS = MatchOptions()


def plain_rules(n: int, options: MatchOptions = OPTIONS) -> PairRules:
    return PairRules.make(n, options)


@given(st.integers(4, 14), st.integers(0, 1000), st.booleans())
def test_no_query_gets_its_own_a_held_a_copied_or_a_forbidden_response(
    n: int, seed: int, forbids_images: bool
) -> None:
    generator = np.random.default_rng(seed)
    texts, images = generator.integers(0, n, n), generator.integers(0, n, n)
    allowed = generator.random((n, n)) < 0.9
    rule = SameImageRule.FORBIDDEN if forbids_images else SameImageRule.ALLOWED
    options = MatchOptions(same_image=rule)
    rules = PairRules.make(n, options, same_text=texts, images=images, allowed=allowed)
    relevance, similarity = make_scores(n, 1.2, seed)
    result = match_dense(relevance, similarity, options, rules)
    for row, columns in enumerate(result.columns):
        held = [row, *columns]
        assert len({texts[column] for column in held}) == len(held)
        assert all(allowed[row, column] for column in columns)
        if forbids_images:
            assert all(images[column] != images[row] for column in columns)
    for columns in result.columns.T:
        assert sorted(columns) == list(range(n))
    assert result.feasible is (result.columns.shape[1] == options.rounds)


def test_weights_of_each_round_take_the_greatest_similarity_to_all_held_responses() -> None:
    n = 40
    relevance, similarity = make_scores(n, 1.2)
    weights = DenseWeights(relevance, similarity, OPTIONS, plain_rules(n))
    held = np.random.default_rng(0).permutation(n)
    weights.hold(held)
    expected = weigh(relevance, np.maximum(similarity, similarity[held]), OPTIONS)
    allowed = weights.values > -np.inf
    np.testing.assert_array_equal(weights.values[allowed], expected[allowed])
    assert (~allowed).sum() == n + (held != np.arange(n)).sum()


def test_weights_are_clipped_to_a_millionth() -> None:
    found = weigh(np.array([0.0, 1.0]), np.array([1.0, 0.0], np.float32), MatchOptions(similarity_weight=2.0))
    np.testing.assert_allclose(found, [3 * np.log(1e-6), 0.0], rtol=0, atol=1e-12)


def test_weight_step_rounds_weights() -> None:
    step = 2.0**-16
    weights = weigh(*make_scores(20, 1.2), MatchOptions(weight_step=step))
    assert (weights / step == np.rint(weights / step)).all()
    np.testing.assert_allclose(weights, weigh(*make_scores(20, 1.2), OPTIONS), rtol=0, atol=step / 2)


# Shortlists.


def _totals(result: MatchResult) -> float:
    return sum(outcome.total or 0.0 for outcome in result.outcomes)


def test_shortlists_by_both_lose_next_to_nothing() -> None:
    n = 400
    scores = make_scores(n, 1.2)
    dense = match_dense(*scores, OPTIONS, plain_rules(n))
    listed = match_dense(*scores, MatchOptions(shortlist=ShortlistOptions(64)), plain_rules(n))
    assert listed.feasible
    assert [outcome.shortlist for outcome in listed.outcomes] == [64] * 3
    assert 0 <= _totals(dense) - _totals(listed) <= 5e-4 * abs(_totals(dense))


def test_infeasible_shortlist_is_doubled_and_reported() -> None:
    n = 60
    scores = make_scores(n, 3.0)
    narrow = ShortlistOptions(1, ShortlistBy.ROWS)
    widened = match_dense(*scores, MatchOptions(shortlist=narrow), plain_rules(n))
    assert widened.feasible
    used = [outcome.shortlist for outcome in widened.outcomes]
    assert all(k in {2**power for power in range(1, 6)} | {n} for k in used)
    assert used == sorted(used, key=lambda k: k or 0)
    fixed = MatchOptions(shortlist=ShortlistOptions(1, ShortlistBy.ROWS, widen=False))
    stopped = match_dense(*scores, fixed, plain_rules(n))
    assert not stopped.feasible
    assert stopped.outcomes[0].shortlist == 1
    assert stopped.outcomes[0].violator is not None


def test_shortlist_widened_to_all_pairs_gives_the_dense_result() -> None:
    n = 12
    scores = make_scores(n, 1.2)
    listed = match_dense(*scores, MatchOptions(shortlist=ShortlistOptions(n)), plain_rules(n))
    np.testing.assert_array_equal(listed.columns, match_dense(*scores, OPTIONS, plain_rules(n)).columns)


def test_lower_index_wins_a_tie_in_a_shortlist() -> None:
    weights = np.zeros((4, 4))
    np.fill_diagonal(weights, -np.inf)
    indptr, indices = shortlist_pairs(weights, 1, ShortlistBy.ROWS)
    assert list(zip(pair_rows(indptr).tolist(), indices.tolist(), strict=True)) == [
        (0, 1),
        (1, 0),
        (2, 0),
        (3, 0),
    ]


def test_listed_pairs_alone_give_the_result_of_the_shortlist() -> None:
    n = 80
    relevance, similarity = make_scores(n, 1.2)
    texts = np.arange(n) // 2  # every text twice
    rules = PairRules.make(n, OPTIONS, same_text=texts)
    first = DenseWeights(relevance, similarity, OPTIONS, rules).values
    pairs = shortlist_pairs(first, 12, ShortlistBy.BOTH)
    asked: list[int] = []

    def similarity_of(ours: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
        asked.append(len(ours))
        return similarity[ours, others]

    values = relevance[pair_rows(pairs[0]), pairs[1]]
    weights = PairWeights(pairs, values, similarity_of, OPTIONS, rules, shortlist=12)
    listed = match_rounds(weights, n, 3)
    options = MatchOptions(shortlist=ShortlistOptions(12, widen=False))
    expected = match_dense(relevance, similarity, options, rules)
    assert listed == MatchResult(listed.columns, expected.outcomes)
    np.testing.assert_array_equal(listed.columns, expected.columns)
    assert asked == [len(pairs[1])] * 3


# Buckets, copies and input.


def test_nothing_crosses_a_bucket_and_buckets_are_independent() -> None:
    n = 30
    scores = make_scores(n, 1.2)
    ids = [f"{index:02d}" for index in range(n)]
    buckets = ["odd" if index % 2 else "even" for index in range(n)]
    found = match_buckets(*scores, OPTIONS, ids=ids, buckets=buckets)
    assert all(len({index % 2 for index in row}) == 1 and len(row) == 4 for row in found.choices)
    assert [(item.bucket, item.outcome.round) for item in found.rounds] == [
        (bucket, number) for bucket in ("even", "odd") for number in (1, 2, 3)
    ]
    other = match_buckets(*scores, OPTIONS, ids=ids, buckets=[name.replace("odd", "a") for name in buckets])
    assert other.choices == found.choices


def test_violator_is_named_by_ids() -> None:
    n = 6
    relevance, similarity = np.full((n, n), 0.5), np.zeros((n, n))
    options = MatchOptions(same_image=SameImageRule.FORBIDDEN, rounds=1)
    ids = [f"q{index}" for index in range(n)]
    found = match_buckets(relevance, similarity, options, ids=ids, images=[0, 0, 0, 0, 1, 1])
    assert found.rounds[0].reason == ("3 queries ('q0', 'q1', 'q2') may get only 2 responses ('q4', 'q5')")
    assert found.choices == tuple((index,) for index in range(n))


def test_copies_are_grouped_and_counted() -> None:
    labels = label_copies(["a", "b", "a", "c", "b", "a"])
    assert labels.tolist() == [0, 1, 0, 2, 1, 0]
    assert [group.tolist() for group in groups_of_copies(labels)] == [[0, 2, 5], [1, 4]]
    assert [group.tolist() for group in excess_copies(labels, 3)] == [[0, 2, 5], [1, 4]]
    assert [group.tolist() for group in excess_copies(np.array([0] * 2 + list(range(1, 7))), 3)] == []


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1, 1.1])
def test_number_that_is_no_probability_is_named_by_row_and_column(value: float) -> None:
    matrix = np.full((300, 300), 0.5)
    matrix[270, 4] = value
    with pytest.raises(InvalidInput, match=f"^nli: row 270, column 4 is {value}"):
        check_probabilities("nli", matrix)
    with pytest.raises(InvalidInput):
        check_probabilities("nli", matrix, ignore_diagonal=True)
    matrix[270, 4], matrix[270, 270] = 0.5, value
    check_probabilities("nli", matrix, ignore_diagonal=True)


def test_similarity_has_to_be_symmetric_with_a_diagonal_of_one() -> None:
    matrix = symmetric_similarity(np.random.default_rng(0).random((300, 300)))
    check_similarity(matrix)
    matrix[280, 3] += 1e-3
    with pytest.raises(InvalidInput, match=r"row 3, column 280 is .*, but row 280, column 3 is"):
        check_similarity(matrix)
    matrix[280, 3] -= 1e-3
    matrix[7, 7] = 0.9
    with pytest.raises(InvalidInput, match=r"row 7, column 7 is 0\.9"):
        check_similarity(matrix)


@pytest.mark.parametrize(
    "fields", [{"similarity_weight": np.nan}, {"similarity_weight": -1.0}, {"rounds": 0}]
)
def test_unusable_options_are_refused(fields: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        MatchOptions(**fields)  # type: ignore[arg-type]
