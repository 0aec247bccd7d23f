"""Copies of earlier texts: equal to a look at every pair, quick for hundreds of thousands."""

import random
import resource
import time
from itertools import accumulate

import pytest

from validation.domain.judging.near_copies import MIN_WORDS, find_copies, is_long_text, normalise_text


def slow(texts: list[str], authors: list[int], likeness: float) -> list[tuple[int, float]]:
    """Look at every earlier text, as the definition reads."""
    plain = [normalise_text(text) for text in texts]
    result = []
    for at, text in enumerate(plain):
        found = (-1, 0.0)
        for earlier in range(at):
            long = len(text.split()) >= MIN_WORDS
            if text and text == plain[earlier] and (long or authors[at] == authors[earlier]):
                found = (earlier, 1.0)
                break
        if found[0] < 0 and len(text.split()) >= MIN_WORDS:
            words = set(text.split())
            for earlier in range(at):
                others = set(plain[earlier].split())
                if len(plain[earlier].split()) < MIN_WORDS:
                    continue
                index = len(words & others) / len(words | others)
                if index >= likeness - 1e-9:
                    found = (earlier, index)
                    break
        result.append(found)
    return result


@pytest.mark.parametrize("seed", range(40))
def test_copies_equal_a_comparison_of_all_pairs(seed: int) -> None:
    rng = random.Random(seed)
    words = [f"w{n}" for n in range(rng.choice([8, 30, 200]))]
    texts = [" ".join(rng.choices(words, k=rng.randint(0, 14))) for _ in range(80)]
    for _ in range(60):
        copied = rng.choice(texts).split()
        for _ in range(rng.randint(0, 2)):
            if copied:
                copied[rng.randrange(len(copied))] = rng.choice(words)
        if rng.random() < 0.3:
            copied.append(rng.choice(words))
        texts.insert(rng.randrange(len(texts)), " ".join(copied))
    authors = [rng.randrange(4) for _ in texts]
    likeness = rng.choice([0.6, 0.8, 0.9, 1.0])
    found = find_copies(texts, authors, likeness)
    expected = slow(texts, authors, likeness)
    assert list(found.source) == [of for of, _ in expected]
    assert list(found.similarity) == pytest.approx([index for _, index in expected])


def test_copy_is_found_despite_case_marks_and_letter_forms() -> None:
    texts = [
        "Somebody left the café in a hurry, it seems.",
        "SOMEBODY left the cafe\u0301 in a hurry -- it seems",
        "Somebody left the bar in a hurry it seems",
        "Nobody was ever here before, by the looks",
    ]
    assert list(find_copies(texts, [1, 2, 3, 4]).source) == [-1, 0, 0, -1]
    assert find_copies(texts, [1, 2, 3, 4]).similarity[2] == pytest.approx(8 / 10)


def test_short_texts_are_copies_only_within_an_author() -> None:
    found = find_copies(["a red car", "a red car", "A red car!", "", "", "..."], [1, 2, 1, 1, 1, 1])
    assert list(found.source) == [-1, -1, 0, -1, -1, -1]
    assert not is_long_text("a red car over there"[:9])
    assert is_long_text("a red car over there")


def test_empty_texts_are_no_copies() -> None:
    assert not find_copies([], []).source.size
    assert list(find_copies(["one text of five words"], [1]).source) == [-1]


@pytest.mark.nightly
def test_363000_texts_take_less_than_a_minute() -> None:
    rng = random.Random(1)
    words = [f"w{n}" for n in range(20_000)]
    weights = list(accumulate(1 / (n + 5) for n in range(len(words))))
    texts = [" ".join(rng.choices(words, cum_weights=weights, k=rng.randint(4, 15))) for _ in range(363_000)]
    for at in range(0, len(texts), 20):
        texts[at] = texts[rng.randrange(len(texts))]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    found = find_copies(texts, [at % 200 for at in range(len(texts))])
    assert time.perf_counter() - started < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2_000_000
    assert (found.source >= 0).sum() > 10_000
