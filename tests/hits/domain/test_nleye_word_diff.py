"""The word diff of texts: cases checked by hand, laws on random texts, and the page's script on the same texts."""

import json
import random
import shutil
import subprocess
import time
from typing import Any

import pytest

from hits.domain.answers.content_words import FUNCTION_WORDS, is_function_word
from hits.domain.answers.word_diff import HunkKind, compare_texts, find_differences, split_into_words
from tests.support.paths import ROOT

CASES = json.loads((ROOT / "tests/js/word_diff_cases.json").read_text(encoding="utf-8"))
PAIRS = 600
PARTS = [
    *(
        "a",
        "the",
        "cat",
        "Cat",
        "dog",
        "dog's",
        "dog’s",
        "in",
        "red",
        "ten-year-old",
        "it's",
        "not",
        "2",
        "2.5",
    ),
    *("é", "e\u0301", "日本", "ſ", "ß", "½", "a_b", "İ", "ﬁ", "٣", "क्षि", "👍", "𝔸", "…", "'", "ς"),
]
GAPS = [" ", " ", " ", "  ", ", ", ". ", "\n", "-", "'", "\u00a0", "\u2009", "\u200b", " – "]


def random_text(pick: random.Random) -> str:
    return "".join(pick.choice(PARTS) + pick.choice(GAPS) for _ in range(pick.randint(0, 12)))


def random_pair(pick: random.Random) -> tuple[str, str]:
    """Return two texts; often the second is the first with a few changes."""
    first = random_text(pick)
    if pick.random() < 0.3:
        return first, random_text(pick)
    words = first.split(" ")
    for _ in range(pick.randint(0, 3)):
        place = pick.randrange(len(words))
        words[place : place + pick.randint(0, 2)] = pick.sample(PARTS, pick.randint(0, 2))
        words = words or [""]
    return first, " ".join(words)


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["about"])
def test_case_has_its_hunks_and_differences(case: dict[str, Any]) -> None:
    hunks = compare_texts(case["first"], case["second"])
    assert [[hunk.kind, hunk.before, hunk.after] for hunk in hunks] == case["hunks"]
    found = find_differences(case["first"], case["second"])
    assert [[row.before, row.after] for row in found] == case["differences"]


def test_function_words_of_the_cases_are_the_list() -> None:
    assert CASES["function_words"] == sorted(FUNCTION_WORDS)
    assert [is_function_word(word) for word in ("she's", "isn't", "two", "without")] == [
        True,
        False,
        False,
        False,
    ]


def test_hunks_of_random_texts_join_to_both_texts() -> None:
    pick = random.Random(3)
    for first, second in (random_pair(pick) for _ in range(PAIRS)):
        hunks = compare_texts(first, second)
        words = split_into_words(first)
        if words:
            assert "".join(hunk.before for hunk in hunks) == first
        kept = [word for hunk in hunks if hunk.kind is not HunkKind.INSERT for word in hunk.words]
        assert kept == [word.key for word in words]
        equal = sum(len(hunk.words) for hunk in hunks if hunk.kind is HunkKind.EQUAL)
        assert (equal == len(words) == len(split_into_words(second))) == (not find_differences(first, second))


def test_page_and_server_find_the_same_hunks() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed: THE PAGE'S WORD DIFF IS NOT COMPARED")
    pick = random.Random(5)
    pairs = [random_pair(pick) for _ in range(PAIRS)]
    data = json.dumps({"functionWords": sorted(FUNCTION_WORDS), "pairs": pairs})
    script = ROOT / "tests/js/helpers/word-diffs.mjs"
    done = subprocess.run([node, str(script)], input=data, capture_output=True, text=True, check=True)
    for (first, second), (hunks, differences) in zip(pairs, json.loads(done.stdout), strict=True):
        expected = [
            [row.kind, row.before, row.after, list(row.words)] for row in compare_texts(first, second)
        ]
        assert hunks == expected, (first, second)
        found = [[row.before, row.after] for row in find_differences(first, second)]
        assert differences == found, (first, second)
    assert sum(bool(differences) for _, differences in json.loads(done.stdout)) > PAIRS // 3


def test_texts_of_few_repeated_words_are_compared_at_once() -> None:
    first, second = "x a " * 100, "x a " * 30 + "y a " * 940 + "x a " * 30  # 400 and 4,000 characters
    started = time.process_time()
    hunks = compare_texts(first, second)
    # Half a second at most, while a search of every pair of equal words took more than three.
    assert time.process_time() - started < 1.5
    words = [(hunk.kind, len(hunk.words)) for hunk in hunks]
    assert words == [("equal", 60), ("delete", 79), ("insert", 1879), ("equal", 61)]
    assert "".join(hunk.before for hunk in hunks) == first
    assert "".join(hunk.after for hunk in hunks) == second
    same = compare_texts(second, second)
    assert [(hunk.kind, len(hunk.words)) for hunk in same] == [("equal", 2000)]
    cut = compare_texts(second, "x a " * 100)
    assert [(hunk.kind, len(hunk.words)) for hunk in cut] == [
        ("equal", 60),
        ("delete", 1879),
        ("insert", 79),
        ("equal", 61),
    ]
