"""A bucket is matched completely: words for missing classes, and triplets set aside where nothing else helps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.matching.copies import label_copies
from curation.matching.object_classes import missing_pairs
from curation.matching.options import MatchOptions, MissingClassRule, SameImageRule, ShortlistOptions
from curation.matching.solve_bucket import (
    SET_ASIDE,
    BucketProblem,
    BucketSolution,
    dense_matcher,
    solve_bucket,
)
from curation.records import InvalidInput
from tests.support.vcr.matching import make_scores

PERSON = frozenset({"person"})


def make_problem(
    needed: list[frozenset[str]],
    present: list[frozenset[str]],
    *,
    texts: list[int] | None = None,
    images: list[int] | None = None,
) -> BucketProblem:
    n = len(needed)
    return BucketProblem(
        "neutral-why",
        [f"t{index:03d}" for index in range(n)],
        label_copies(texts or range(n)),
        label_copies(images or range(n)),
        missing_pairs(needed, present),
    )


def solve(
    problem: BucketProblem,
    options: MatchOptions | None = None,
    rule: MissingClassRule = MissingClassRule.FORBIDDEN,
) -> BucketSolution:
    options = options or MatchOptions()
    scores = make_scores(len(problem.ids), 1.2)
    return solve_bucket(problem, options, rule, dense_matcher(*scores, options))


def check_solution(problem: BucketProblem, solution: BucketSolution) -> None:
    """Assert that every triplet is set aside or complete, and that nothing forbidden was matched."""
    n, rounds = solution.columns.shape
    kept = [index for index in range(n) if index not in solution.set_aside]
    for index in range(n):
        columns = solution.columns[index].tolist()
        if index in solution.set_aside:
            assert columns == [SET_ASIDE] * rounds
            assert solution.set_aside[index]
            continue
        held = [index, *columns]
        assert len({int(problem.same_text[column]) for column in held}) == len(held)
        assert all(not problem.missing[index, column] or column in solution.words for column in columns)
    for columns in solution.columns[kept].T:
        assert sorted(columns.tolist()) == kept


def test_bucket_without_missing_classes_is_matched_at_once() -> None:
    problem = make_problem([PERSON] * 20, [PERSON] * 20)
    solution = solve(problem)
    check_solution(problem, solution)
    assert (solution.words, solution.set_aside, solution.attempts) == ((), {}, 1)
    assert [outcome.feasible for outcome in solution.outcomes] == [True] * 3


def test_response_with_fewer_queries_than_rounds_gets_words() -> None:
    needed = [PERSON] * 19 + [frozenset({"boat"})]
    present = [PERSON] * 17 + [PERSON | {"boat"}] * 3  # its own image, and two others
    problem = make_problem(needed, present)
    solution = solve(problem)
    check_solution(problem, solution)
    assert (solution.words, solution.set_aside, solution.attempts) == ((19,), {}, 1)


def test_response_with_exactly_enough_queries_keeps_its_tags() -> None:
    needed = [PERSON] * 19 + [frozenset({"boat"})]
    present = [PERSON] * 16 + [PERSON | {"boat"}] * 4
    problem = make_problem(needed, present)
    solution = solve(problem)
    check_solution(problem, solution)
    assert (solution.words, solution.set_aside) == ((), {})


def test_responses_that_share_too_few_queries_get_words() -> None:
    """Each of five responses has four queries, but they are the same four."""
    boats = [frozenset({"boat"})] * 5
    needed = [*boats, *[PERSON] * 20]
    present = [PERSON] * 20 + [PERSON | {"boat"}] * 4 + [PERSON]
    problem = make_problem(needed, present)
    solution = solve(problem)
    check_solution(problem, solution)
    assert set(solution.words) <= set(range(5))
    assert solution.words
    assert solution.set_aside == {}
    assert solution.attempts > 1


def test_query_whose_image_lacks_people_gets_words_of_few_responses() -> None:
    needed = [PERSON] * 29 + [frozenset()]
    present = [PERSON] * 29 + [frozenset({"dog"})]
    problem = make_problem(needed, present)
    solution = solve(problem)
    check_solution(problem, solution)
    assert len(solution.words) == 3
    assert solution.set_aside == {}


def test_words_rule_forbids_no_pair() -> None:
    needed = [frozenset({f"class {index}"}) for index in range(12)]
    problem = make_problem(needed, [PERSON] * 12)
    solution = solve(problem, rule=MissingClassRule.WORDS)
    assert (solution.words, solution.set_aside, solution.attempts) == ((), {}, 1)


def test_triplets_of_one_image_are_set_aside_if_they_are_too_many() -> None:
    """Eight of twelve triplets are of one image, whose responses are forbidden: four remain, beside the others."""
    problem = make_problem([PERSON] * 12, [PERSON] * 12, images=[0] * 8 + [1, 2, 3, 4])
    solution = solve(problem, MatchOptions(same_image=SameImageRule.FORBIDDEN))
    check_solution(problem, solution)
    assert solution.set_aside
    assert set(solution.set_aside) <= set(range(8))
    assert all(
        "queries may get" in reason or "responses may" in reason for reason in solution.set_aside.values()
    )


def test_bucket_that_shrinks_below_the_rounds_is_set_aside_whole() -> None:
    problem = make_problem([PERSON] * 6, [PERSON] * 6, images=[0] * 6)
    solution = solve(problem, MatchOptions(same_image=SameImageRule.FORBIDDEN))
    assert set(solution.set_aside) == set(range(6))
    assert (solution.columns == SET_ASIDE).all()
    assert solution.outcomes == ()


def test_shortlists_are_widened_before_anything_else() -> None:
    problem = make_problem([PERSON] * 40, [PERSON] * 40)
    solution = solve(problem, MatchOptions(shortlist=ShortlistOptions(1)))
    check_solution(problem, solution)
    assert (solution.words, solution.set_aside, solution.attempts) == ((), {}, 1)


@pytest.mark.parametrize(
    ("n", "texts", "message"),
    [
        (3, None, "bucket neutral-why: a bucket of 3 is too small: 3 rounds need at least 4"),
        (11, [0, 0, 0, *range(1, 9)], "3 copies of one text .* in a bucket of 11: 3 rounds need at least 12"),
    ],
)
def test_hopeless_bucket_is_refused(n: int, texts: list[int] | None, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        solve(make_problem([PERSON] * n, [PERSON] * n, texts=texts))


@given(st.integers(8, 24), st.integers(0, 10_000))
def test_every_bucket_is_solved(n: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    classes = ["person", "chair", "car", "dog"]
    weights = np.array([0.8, 0.1, 0.06, 0.04])
    present = [
        frozenset(["person", *generator.choice(classes, size=2, p=weights).tolist()]) for _ in range(n)
    ]
    needed = [frozenset(generator.choice(sorted(found), size=1).tolist()) for found in present]
    texts = np.where(generator.random(n) < 0.2, 0, np.arange(1, n + 1))
    if (texts == 0).sum() * 4 > n:
        texts = np.arange(n)
    problem = make_problem(needed, present, texts=texts.tolist())
    solution = solve(problem)
    check_solution(problem, solution)
    again = solve(problem)
    assert solution.set_aside == again.set_aside
    np.testing.assert_array_equal(solution.columns, again.columns)
