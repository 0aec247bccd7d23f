"""Tags of wrong responses: which objects they go to, on what they hang, and the share of preferred ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.evaluation.choice_shortcuts import CHANCE, POINT
from curation.matching.fit_share import (
    SharedTags,
    WrongResponse,
    count_shared_tags,
    fit_share,
    stack_shared_tags,
)
from curation.matching.object_classes import missing_pairs, tagged_classes
from curation.matching.remap import TagDraw, Target, draw_tags, map_objects, remap_response
from hits.domain.tagged_text import Segment, mentions
from tests.support.vcr.matched import fit_shares
from tests.support.vcr.synthetic import SyntheticTriplet, make_synthetic_set

SECRET = b"0123456789abcdef"
NAMES = ("person", "person", "car")
RESPONSE: list[Segment] = [{"objects": [1]}, " pushes ", {"objects": [2]}, " with ", {"objects": [0, 1]}, "."]
LOW, HIGH = TagDraw(0.0, 0.0), TagDraw(0.0, 0.999)


def test_draws_hang_on_secret_and_ids_alone() -> None:
    draws = draw_tags(SECRET, "a", "b", 5)
    assert draws == draw_tags(SECRET, "a", "b", 9)[:5]
    others = [
        draw_tags(SECRET, "b", "a", 5),
        draw_tags(b"other", "a", "b", 5),
        draw_tags(SECRET, "ab", "", 5),
    ]
    assert all(draws != other for other in others)
    numbers = [
        value for draw in draw_tags(SECRET, "a", "b", 2000) for value in (draw.threshold, draw.position)
    ]
    assert 0 <= min(numbers) < max(numbers) < 1
    assert np.mean(numbers) == pytest.approx(0.5, abs=0.02)
    assert len(set(numbers)) == len(numbers)


def test_tags_go_to_objects_of_the_same_class() -> None:
    target = Target(("car", "person", "dog", "person", "car"), preferred={3})
    found = remap_response(RESPONSE, NAMES, target, [HIGH, LOW, LOW], share=1.0)
    assert found.segments == (
        {"objects": [3]},
        " pushes ",
        {"objects": [0]},
        " with ",
        {"objects": [1, 3]},
        ".",
    )
    assert found.mapping == ((1, 3), (2, 0), (0, 1))
    assert found.words == ()


def test_share_zero_prefers_no_object() -> None:
    target = Target(("person",) * 4, preferred={2})
    response: list[Segment] = [{"objects": [0]}, " waits."]
    chosen = [
        map_objects(response, ("person",), target, draw_tags(SECRET, "q", str(n), 1), 0.0)[0]
        for n in range(400)
    ]
    assert np.bincount(chosen, minlength=4).min() > 60
    preferred = [
        map_objects(response, ("person",), target, draw_tags(SECRET, "q", str(n), 1), 0.5)[0]
        for n in range(400)
    ]
    assert 180 < preferred.count(2) < 320  # a half, and a quarter of the rest


@pytest.mark.parametrize(("distinct", "expected"), [(True, {0: 1, 1: 0}), (False, {0: 1, 1: 1})])
def test_distinct_objects_stay_distinct_where_there_are_enough(
    distinct: bool, expected: dict[int, int]
) -> None:
    response: list[Segment] = [{"objects": [0]}, " kisses ", {"objects": [1]}, "."]
    target = Target(("person", "person"), frozenset(), distinct)
    assert map_objects(response, ("person", "person"), target, [HIGH, HIGH], 0.0) == expected
    alone = Target(("person",), frozenset(), distinct)
    assert map_objects(response, ("person", "person"), alone, [HIGH, HIGH], 0.0) == {0: 0, 1: 0}


def test_missing_class_becomes_words() -> None:
    target = Target(("person", "person"), frozenset())
    found = remap_response(RESPONSE, NAMES, target, [LOW] * 3, 0.0)
    assert found.segments == ({"objects": [0]}, " pushes the car with ", {"objects": [0, 1]}, ".")
    assert found.words == ("car",)


def test_words_at_the_start_are_capitalized_and_share_a_tag_with_objects() -> None:
    names = ("car", "dog", "person")
    target = Target(("person",), frozenset())
    first = remap_response([{"objects": [0]}, " stops."], names, target, [LOW], 0.0)
    assert first.segments == ("The car stops.",)
    group = remap_response([{"objects": [0, 1, 2]}, " and he rest."], names, target, [LOW] * 3, 0.0)
    assert group.segments == ({"objects": [0]}, " and the car and the dog and he rest.")
    lower = remap_response(["so ", {"objects": [0]}, " stops"], names, target, [LOW], 0.0)
    assert lower.segments == ("so the car stops",)


def test_missing_pairs_need_every_tagged_class() -> None:
    assert tagged_classes(RESPONSE, NAMES) == {"person", "car"}
    needed = [frozenset({"person"}), frozenset({"person", "car"}), frozenset()]
    present = [frozenset({"person", "dog"}), frozenset({"car", "person"})]
    assert missing_pairs(needed, present).tolist() == [[False, True, False], [False, False, False]]


# The share of preferred tags.


def _shared_tags(triplets: tuple[SyntheticTriplet, ...]) -> SharedTags:
    """Three random wrong answers for each question."""
    generator = np.random.default_rng(0)
    rows = []
    for triplet in triplets:
        preferred = frozenset(mentions(triplet.question)) | frozenset(mentions(triplet.answer))
        wrong = [
            WrongResponse(other.answer, other.objects, draw_tags(SECRET, triplet.id, other.id, 4))
            for other in (triplets[int(index)] for index in generator.integers(len(triplets), size=3))
        ]
        target = Target(triplet.objects, preferred)
        rows.append(count_shared_tags(triplet.question, triplet.answer, target, wrong))
    return stack_shared_tags(rows)


def test_fitted_share_brings_tag_overlap_to_chance() -> None:
    shared = _shared_tags(make_synthetic_set({"train-0": 400}).triplets)
    fit = fit_share(shared)
    assert fit.at_zero > CHANCE + 5 * POINT
    assert fit.at_one < CHANCE - POINT
    assert fit.in_reach
    assert abs(shared.tag_overlap(fit.share) - CHANCE) <= POINT
    assert fit.tag_overlap == shared.tag_overlap(fit.share)


@given(st.integers(0, 60), st.floats(0, 1))
def test_steps_equal_a_remapping_at_the_share(number: int, share: float) -> None:
    triplets = make_synthetic_set({"train-0": 61}).triplets
    triplet, other = triplets[number], triplets[(number * 7 + 3) % 61]
    target = Target(triplet.objects, frozenset(mentions(triplet.question)))
    draws = draw_tags(SECRET, triplet.id, other.id, 4)
    wrong = WrongResponse(other.rationale, other.objects, draws)
    _, [(thresholds, counts)] = count_shared_tags(triplet.question, triplet.rationale, target, [wrong])
    text = remap_response(other.rationale, other.objects, target, draws, share).segments
    expected = len(set(mentions(text)) & set(mentions(triplet.question)))
    assert counts[sum(threshold < share for threshold in thresholds)] == expected


@pytest.mark.parametrize(
    ("first_counts", "second_counts", "share", "tag_overlap"),
    [([0, 1], [0, 0], 1.0, 0.625), ([1, 2], [2, 2], 0.0, 0.125)],
    ids=["right responses share too much", "wrong responses share too much"],
)
def test_nearest_end_is_taken_where_chance_is_out_of_reach(
    first_counts: list[int], second_counts: list[int], share: float, tag_overlap: float
) -> None:
    counts = np.array([[first_counts] * 3, [second_counts] * 3])
    fit = fit_share(SharedTags(np.array([1, 1]), np.full((2, 3, 1), 0.5), counts))
    assert (fit.share, fit.tag_overlap, fit.in_reach) == (share, tag_overlap, False)


def test_share_brings_tag_overlap_of_matched_synthetic_triplets_to_chance() -> None:
    """As the benchmark does it: relevance that sees no identity leaks the tags, and the fitted share hides them."""
    fits = fit_shares(make_synthetic_set({"train-0": 200}, dimensions=16))
    assert [fit["stage"] for fit in fits] == ["answer", "rationale"]
    for fit in fits:
        assert fit["at_zero"] > CHANCE + 5 * POINT
        assert fit["tag_overlap"] == pytest.approx(CHANCE, abs=POINT)
        assert 0 < fit["share"] < 1


def test_no_question_leaves_the_figure_at_chance() -> None:
    assert fit_share(stack_shared_tags([])).tag_overlap == CHANCE
