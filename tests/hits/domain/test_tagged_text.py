"""Texts with object tags: display, words, published tokens, originals, and reading back."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.domain.tagged_text import (
    TaggedTextError,
    check_segments,
    class_text,
    copy_key,
    count_words,
    display_text,
    mentions,
    normalize_segments,
    original_text,
    read_original,
    segments_of_tokens,
    tokenize_segments,
)

CASES = json.loads((Path(__file__).parents[2] / "cases" / "vcr_matching.json").read_text())["tagged_texts"]
NAMES = ["person", "person", "dog", "car", "person"]


def tag(*objects: int) -> dict[str, list[int]]:
    return {"objects": list(objects)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["raw"])
def test_read_original_of_a_published_text_gives_its_tokens(case):
    segments = read_original(case["raw"], case["objects"])
    assert tokenize_segments(segments) == case["tokens"]
    assert original_text(segments) == case["raw"]


def test_display_text_names_class_and_number():
    text = ["Do ", tag(0, 1), " walk ", tag(2), "?"]
    assert display_text(text, NAMES) == "Do person 1 and person 2 walk dog 3?"
    assert display_text([tag(0, 1, 4)], NAMES) == "person 1, person 2 and person 5"
    assert class_text(text, NAMES) == "Do person and person walk dog?"


def test_original_text_of_a_group_has_commas_and_and():
    assert original_text([tag(0, 1), " meet ", tag(0, 2, 3), "."]) == "1 and 2 meet 1, 3, and 4."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ([], 0),
        (["  "], 0),
        (["It's three o'clock."], 3),
        ([tag(0, 1), " wave"], 2),
        ([tag(0), "'s coat"], 3),
        (["well-known"], 2),
        (["naïve café"], 2),
        (["' '"], 0),
        (["a_b"], 2),
    ],
)
def test_count_words_counts_runs_and_each_tag_once(text, words):
    assert count_words(text) == words


def test_tokenize_segments_appends_a_missing_closing_mark_only():
    assert tokenize_segments(["Who is ", tag(0)], closing="?") == ["Who", "is", [0], "?"]
    assert tokenize_segments(["Stop!"], closing=".") == ["Stop", "!"]
    assert tokenize_segments([], closing=".") == []


def test_tokens_of_a_clock_time_stay_text_when_read_back():
    tokens = tokenize_segments(["It is 3 o'clock for ", tag(2), "."])
    assert tokenize_segments(segments_of_tokens(tokens)) == tokens
    assert mentions(segments_of_tokens(tokens)) == [2]


def test_read_original_leaves_numbers_beyond_the_objects_as_text():
    segments = read_original("Does 1 count to 10 at 4:30?", 5)
    assert mentions(segments) == [0]


def test_copy_key_ignores_case_and_identity():
    assert copy_key(["The ", tag(0), " waves."], NAMES) == copy_key(["the ", tag(4), " WAVES."], NAMES)
    assert copy_key([tag(0)], NAMES) != copy_key([tag(2)], NAMES)
    assert copy_key([tag(0)], NAMES) != copy_key(["person"], NAMES)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("text", "not a list"),
        ([3], "segment 1 is neither"),
        ([{"objects": [0], "more": 1}], "segment 1 is neither"),
        (["a", {"objects": []}], "segment 2 is a tag without objects"),
        ([{"objects": [5]}], "has the tag 6, but the image has 5 objects"),
        ([{"objects": [-1]}], "has the tag 0"),
        ([{"objects": [True]}], "has the tag"),
        (["a\x00b"], "U+0000"),
    ],
)
def test_check_segments_names_the_segment_and_the_problem(raw, problem):
    with pytest.raises(TaggedTextError, match=problem.replace("+", r"\+")):
        check_segments(raw, 5)


def test_normalize_segments_has_one_form():
    raw = ["  a", " \n b ", tag(2, 1, 2), "", " c  "]
    assert normalize_segments(raw) == ["a b ", tag(1, 2), " c"]
    assert normalize_segments(normalize_segments(raw)) == normalize_segments(raw)


SEGMENTS = st.lists(
    st.one_of(
        st.text(max_size=20).filter(lambda text: "\x00" not in text),
        st.lists(st.integers(0, 4), min_size=1, max_size=3).map(lambda objects: tag(*objects)),
    ),
    max_size=8,
)


@given(SEGMENTS)
def test_segments_of_tokens_gives_the_same_tokens_again(raw):
    tokens = tokenize_segments(normalize_segments(raw))
    assert tokenize_segments(segments_of_tokens(tokens)) == tokens


@given(SEGMENTS)
def test_normalize_segments_never_leaves_two_strings_side_by_side(raw):
    found = normalize_segments(raw)
    assert not any(isinstance(a, str) and isinstance(b, str) for a, b in pairwise(found))
    assert mentions(found) == [i for s in raw if not isinstance(s, str) for i in sorted(set(s["objects"]))]
    assert "" not in found
