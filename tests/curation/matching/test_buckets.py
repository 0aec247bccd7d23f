"""Buckets by pronouns, question types and sentence vectors; folds by movie."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from curation.matching.buckets import (
    Bucket,
    BucketOptions,
    PronounGender,
    make_buckets,
    pronoun_gender,
    question_type,
)
from curation.matching.clustering import cluster_evenly
from curation.matching.folds import check_folds, fold_names, make_folds
from curation.records import InvalidInput

TEXTS = {
    "female": "She waits for person.",
    "male": "person lost himself.",
    "neutral": "They wait.",
    "both": "He sees her.",
}


def unit_vectors(n: int, seed: int = 0, dimensions: int = 8) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((n, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def buckets_of(
    counts: dict[tuple[str, str], int], options: BucketOptions | None = None
) -> tuple[list[Bucket], list[str]]:
    """Return buckets of so many responses of each (gender, first word of the question), and the responses."""
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    responses = [TEXTS[gender] for gender, _ in pairs]
    questions = [f"{word} is person here?" for _, word in pairs]
    found = make_buckets(responses, unit_vectors(len(pairs)), options or BucketOptions(), questions=questions)
    members = sorted(index for bucket in found for index in bucket.members)
    assert members == list(range(len(pairs)))
    return found, responses


def sizes_of(buckets: list[Bucket]) -> dict[str, int]:
    return {bucket.name: len(bucket.members) for bucket in buckets}


@pytest.mark.parametrize(
    ("text", "gender"),
    [
        ("HERS, they say.", PronounGender.FEMALE),
        ("She's late", PronounGender.FEMALE),
        ("The hero shed a tear.", PronounGender.NEUTRAL),
        ("his book", PronounGender.MALE),
        ("he told her", PronounGender.BOTH),
        ("", PronounGender.NEUTRAL),
    ],
)
def test_pronoun_gender(text: str, gender: PronounGender) -> None:
    assert pronoun_gender(text) is gender


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Why is person here?", "why"),
        ("What's person doing?", "what"),
        ("Is person the one who left?", "yes-no"),
        ("And how does person feel?", "how"),
        ("person is here?", "other"),
        ("", "other"),
    ],
)
def test_question_type(text: str, kind: str) -> None:
    assert question_type(text) == kind


def test_buckets_keep_genders_and_question_types_apart() -> None:
    counts = {("female", "Why"): 60, ("female", "What"): 70, ("male", "Why"): 55, ("neutral", "Is"): 80}
    found, _ = buckets_of(counts)
    assert sizes_of(found) == {"female-why": 60, "female-what": 70, "male-why": 55, "neutral-yes-no": 80}


def test_rationales_are_not_divided_by_question_type() -> None:
    responses = [TEXTS["female"]] * 60 + [TEXTS["neutral"]] * 60
    found = make_buckets(responses, unit_vectors(120), BucketOptions())
    assert sizes_of(found) == {"female": 60, "neutral": 60}


@pytest.mark.parametrize(("count", "expected"), [(199, {"neutral-why": 299}), (200, {"both-why": 200})])
def test_responses_of_both_genders_are_neutral_where_they_are_rare(
    count: int, expected: dict[str, int]
) -> None:
    found, _ = buckets_of({("both", "Why"): count, ("neutral", "Why"): 100})
    assert expected.items() <= sizes_of(found).items()


def test_small_bucket_joins_its_gender_first() -> None:
    found, _ = buckets_of({("female", "Why"): 60, ("female", "How"): 10, ("neutral", "How"): 90})
    assert sizes_of(found) == {"female-why+types": 70, "neutral-how": 90}


def test_small_gender_joins_the_neutral_ones() -> None:
    found, responses = buckets_of(
        {("female", "Why"): 10, ("female", "How"): 5, ("male", "How"): 20, ("neutral", "How"): 90}
    )
    assert sizes_of(found) == {"neutral-how+female+male+types": 125}
    assert len(found[0].members) == len(responses)


def test_large_bucket_is_cut_into_equal_parts() -> None:
    found, _ = buckets_of({("neutral", "Why"): 250}, BucketOptions(size=100))
    assert sorted(sizes_of(found).values()) == [83, 83, 84]
    assert {bucket.name for bucket in found} == {"neutral-why-1", "neutral-why-2", "neutral-why-3"}


def test_bucket_size_below_two_matchings_is_refused() -> None:
    with pytest.raises(InvalidInput, match="bucket size: 7 is too small"):
        BucketOptions(size=7)


@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 5))
def test_clusters_have_equal_sizes(count: int, size: int, seed: int) -> None:
    labels = cluster_evenly(unit_vectors(count, seed), size, seed)
    counts = np.bincount(labels)
    assert len(counts) == -(-count // size)
    assert counts.max() - counts.min() <= 1
    assert counts.max() <= size


def test_clusters_follow_the_vectors() -> None:
    centres = np.eye(3, dtype=np.float32)[np.repeat(np.arange(3), 20)]
    rows = centres + 0.05 * unit_vectors(60, dimensions=3)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(60)
    labels = cluster_evenly(rows[order], 20, seed=0)
    for part in range(3):
        assert len({int(index) // 20 for index in order[labels == part]}) == 1


# Folds.


def test_fold_names_are_the_published_ones() -> None:
    assert fold_names(3) == ["train-0", "val-0", "test-0"]
    assert fold_names(11) == [*(f"train-{n}" for n in range(8)), "val-0", "test-0", "blind-0"]
    with pytest.raises(InvalidInput, match="at least 3"):
        fold_names(2)


@given(st.lists(st.integers(1, 60), min_size=6, max_size=60), st.integers(3, 6), st.integers(0, 3))
def test_folds_hold_whole_movies_and_are_balanced(sizes: list[int], count: int, seed: int) -> None:
    movies = [f"m{number}" for number, size in enumerate(sizes) for _ in range(size)]
    folds = make_folds(movies, count, seed, small=True)
    check_folds(movies, folds, small=True)
    totals = Counter(folds)
    assert set(totals) == set(fold_names(count))
    assert max(totals.values()) - min(totals.values()) <= max(sizes)
    assert folds == make_folds(movies, count, seed, small=True)


def test_seed_changes_which_movies_are_together() -> None:
    movies = [f"m{number}" for number in range(30) for _ in range(30)]
    assert make_folds(movies, 3, 0) != make_folds(movies, 3, 1)


@pytest.mark.parametrize(
    ("movies", "folds", "message"),
    [
        (
            ["a", "a", "b", "c"],
            ["train-0", "val-0", "val-0", "test-0"],
            r"'a' in two folds \(train-0, val-0\)",
        ),
        (["a", "b", "b"], ["train-0", "val-0", "val-0"], "2 in 2 folds; give at least 3"),
        (["a", "b", "c"], ["train-0", "val-0", "test-0"], "fold test-0: 1 triplets; .*--small"),
    ],
)
def test_unusable_folds_are_refused(movies: list[str], folds: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_folds(movies, folds)


def test_too_few_movies_are_refused() -> None:
    with pytest.raises(InvalidInput, match="movies: 2 for 3 folds"):
        make_folds(["a", "b"], 3, 0)
