"""Texts in parts for pages: where two hypotheses differ, and what a prompt changed in its text."""

import random

import pytest

from curation.image_triplets.word_diff import HunkKind, TextPart, mark_difference, mark_rewriting
from hits.domain.answers.content_words import is_function_word

WORDS = [
    "a",
    "the",
    "dog",
    "red",
    "ball",
    "runs,",
    "sleeps",
    "under",
    "tree.",
    "child's",
    "half-open",
    "door",
]


def joined(parts: list[TextPart]) -> str:
    return "".join(part.text + part.gap for part in parts)


def test_hypotheses_are_marked_where_they_differ() -> None:
    plausible, implausible = mark_difference("A dog digs in a flower bed.", "A dog digs in a snowdrift.")
    assert [(part.text, part.is_marked) for part in plausible] == [
        ("A dog digs in a", False),
        ("flower bed.", True),
    ]
    assert [(part.text, part.is_marked) for part in implausible] == [
        ("A dog digs in a", False),
        ("snowdrift.", True),
    ]


def test_rewriting_marks_deletions_that_lose_content() -> None:
    parts = mark_rewriting("A broken lamp lies on the floor.", "A lamp lies on a wide floor. Warm light.")
    assert [(part.kind.value, part.text, part.is_marked) for part in parts] == [
        ("equal", "A", False),
        ("delete", "broken", True),
        ("equal", "lamp lies on", False),
        ("delete", "the", False),  # no content word
        ("insert", "a wide", False),
        ("equal", "floor.", False),
        ("insert", "Warm light.", False),
    ]


@pytest.mark.parametrize("seed", range(100))
def test_parts_hold_both_texts_in_order(seed: int) -> None:
    draw = random.Random(seed)
    first, second = (" ".join(draw.choices(WORDS, k=draw.randint(0, 9))) for _ in range(2))
    parts = mark_rewriting(first, second)

    def without(kind: HunkKind) -> list[str]:
        return joined([part for part in parts if part.kind is not kind]).split()

    assert without(HunkKind.DELETE) == second.split()
    # Equal words are shown as the second text has them, so that only the letters and digits of the first count.
    assert [word.strip(".,") for word in without(HunkKind.INSERT)] == [
        word.strip(".,") for word in first.split()
    ]
    kept = {word.strip(".,") for word in second.split()}
    for part in parts:
        words = [word.strip(".,") for word in part.text.split()]
        loses = any(
            not is_function_word(word) and not set(word.removesuffix("'s").split("-")) <= _forms(kept)
            for word in words
        )
        assert part.is_marked is (part.kind is HunkKind.DELETE and loses)
    one, other = mark_difference(first, second)
    assert (joined(one), joined(other)) == (first, second)


def _forms(words: set[str]) -> set[str]:
    return {form for word in words for form in word.removesuffix("'s").split("-")}
