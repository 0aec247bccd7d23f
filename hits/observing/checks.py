"""Checks of an observation answer, as advice for its reviewer.

They follow the problems that validators of the published corpus found (Hessel et al. 2022 §A.2, §A.3): boxes drawn
under another observation's number, repeated clues, and answers given without looking.
"""

from collections.abc import Sequence
from itertools import combinations

from hits.domain.answers.pronouns import find_pronouns
from hits.domain.answers.review_flags import (
    MIN_SIMILARITY,
    ReviewCheck,
    check_pace,
    split_words,
    word_similarity,
)
from hits.domain.images.geometry import Box, summed_box_share
from hits.observing.pairs import ObservationPair

TINY_SHARE = 0.003
HUGE_SHARE = 0.85


def run_checks(
    pairs: Sequence[ObservationPair],
    *,
    image_width: int,
    image_height: int,
    active_seconds: float,
    expected_seconds: int,
) -> list[ReviewCheck]:
    """Return all checks of one answer, in a fixed order. Sizes in pixels, times in seconds."""
    return [
        check_distinct_boxes(pairs),
        check_box_sizes(pairs, image_width=image_width, image_height=image_height),
        check_repeated_clue(pairs),
        check_similar_inferences(pairs),
        check_pronouns(pairs),
        check_pace(active_seconds, expected_seconds),
    ]


def check_distinct_boxes(pairs: Sequence[ObservationPair]) -> ReviewCheck:
    """Check that each pair has a box and that no two pairs have the same boxes."""
    for pair in pairs:
        if not pair.boxes:
            return ReviewCheck(False, f"Pair {pair.index} has no box", "no box")
    indices_by_boxes: dict[frozenset[Box], list[int]] = {}
    for pair in pairs:
        indices_by_boxes.setdefault(frozenset(pair.boxes), []).append(pair.index)
    same = next((indices for indices in indices_by_boxes.values() if len(indices) > 1), None)
    if same:
        return ReviewCheck(False, f"Pairs {_join_indices(same)} have the same box", "same box")
    return ReviewCheck(True, "Each pair has its own box")


def check_box_sizes(pairs: Sequence[ObservationPair], *, image_width: int, image_height: int) -> ReviewCheck:
    """Check that no box is tiny and none covers the whole photo."""
    for pair in pairs:
        for box in pair.boxes:
            share = summed_box_share([box], image_width=image_width, image_height=image_height)
            if share < TINY_SHARE:
                return ReviewCheck(
                    False, f"A box of pair {pair.index} covers {share:.1%} of the photo", "tiny box"
                )
            if share > HUGE_SHARE:
                return ReviewCheck(
                    False, f"A box of pair {pair.index} covers {share:.0%} of the photo", "huge box"
                )
    return ReviewCheck(True, "No tiny or huge box")


def check_repeated_clue(pairs: Sequence[ObservationPair]) -> ReviewCheck:
    """Check that no inference repeats its clue."""
    for pair in pairs:
        clue, inference = split_words(pair.clue), split_words(pair.inference)
        if clue == inference or word_similarity(pair.clue, pair.inference) >= MIN_SIMILARITY:
            return ReviewCheck(False, f"Pair {pair.index}: the inference repeats the clue", "clue repeated")
    return ReviewCheck(True, "No clue repeated as inference")


def check_similar_inferences(pairs: Sequence[ObservationPair]) -> ReviewCheck:
    """Check that no two inferences are nearly the same."""
    for a, b in combinations(pairs, 2):
        if word_similarity(a.inference, b.inference) >= MIN_SIMILARITY:
            return ReviewCheck(False, f"Inferences {a.index} and {b.index} are nearly the same", "two alike")
    return ReviewCheck(True, "No two inferences alike")


def check_pronouns(pairs: Sequence[ObservationPair]) -> ReviewCheck:
    """Check that no pronoun assumes a gender."""
    for pair in pairs:
        found = find_pronouns(pair.inference) or find_pronouns(pair.clue)
        if found:
            word = found[0].text.lower()
            return ReviewCheck(False, f"Pair {pair.index} says “{word}”", f"“{word}”")
    return ReviewCheck(True, "No “he” or “she”")


def _join_indices(indices: Sequence[int]) -> str:
    return " and ".join([", ".join(str(i) for i in indices[:-1]), str(indices[-1])])
