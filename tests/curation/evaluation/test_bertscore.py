"""BERTScore: greedy token matching, as in the published package."""

import numpy as np
import pytest

from curation.evaluation.bertscore import TokenVectors, best_reference_f1, greedy_f1, rescale_to_baseline
from curation.records import InvalidInput


def tokens(rows: np.ndarray, *, marks: bool = True) -> TokenVectors:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    counts = np.ones(len(rows), dtype=bool)
    if marks:
        counts[[0, -1]] = False
    return TokenVectors(unit, counts)


def test_the_same_text_is_perfect_and_order_does_not_matter() -> None:
    rows = np.random.default_rng(0).standard_normal((6, 8))
    assert greedy_f1(tokens(rows), tokens(rows)) == pytest.approx(1)
    assert greedy_f1(tokens(rows, marks=False), tokens(rows[::-1], marks=False)) == pytest.approx(1)


def test_precision_and_recall_by_hand() -> None:
    candidate, reference = tokens(np.eye(4)[:2], marks=False), tokens(np.eye(4)[:1], marks=False)
    # Half of the candidate's tokens have a partner, and all of the reference's: P = 1/2, R = 1.
    assert greedy_f1(candidate, reference) == pytest.approx(2 / 3)
    assert greedy_f1(candidate, reference) == greedy_f1(reference, candidate)


def test_special_tokens_are_matched_but_not_counted() -> None:
    reference = TokenVectors(np.eye(3), np.array([False, True, False]))
    candidate = TokenVectors(np.eye(3)[[0, 0, 2]], np.array([False, True, False]))
    # The candidate's one word is the reference's start mark; the reference's one word is in the candidate nowhere.
    assert greedy_f1(candidate, reference) == 0
    both = TokenVectors(np.eye(3)[[0, 0, 1]], np.array([False, True, False]))
    assert greedy_f1(both, reference) == pytest.approx(1)


def test_text_without_words_scores_zero() -> None:
    empty = TokenVectors(np.eye(2), np.array([False, False]))
    assert greedy_f1(empty, tokens(np.eye(4))) == 0


def test_the_nearest_reference_counts() -> None:
    rows = np.random.default_rng(1).standard_normal((3, 5, 8))
    candidate, *references = (tokens(row) for row in rows)
    each = [greedy_f1(candidate, reference) for reference in references]
    assert each[0] != each[1]
    assert best_reference_f1(candidate, references) == max(each)


def test_rescaling_maps_the_baseline_to_zero() -> None:
    assert rescale_to_baseline(0.83, 0.83) == 0
    assert rescale_to_baseline(1.0, 0.83) == pytest.approx(1)
    with pytest.raises(InvalidInput, match="is not below 1"):
        rescale_to_baseline(1.0, 1.0)
