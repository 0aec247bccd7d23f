"""What a reviewer should look at in an answer of observations. Advice, never a verdict.

The list follows what validators of the published corpus found wrong (paper 001 A.2 and A.3): boxes
drawn under another observation's number, clues said twice, and answers given without looking.
"""

from collections.abc import Sequence
from itertools import combinations

from hits.domain.answers.pronouns import find_pronouns
from hits.domain.answers.review_flags import ALIKE, Check, pace, similarity, words_of
from hits.domain.images.geometry import Box, covered_share
from hits.observing.pairs import ObservationPair

TINY_SHARE = 0.003
HUGE_SHARE = 0.85


def run_checks(
    pairs: Sequence[ObservationPair],
    *,
    image_width: int,
    image_height: int,
    active_seconds: float,
    usual_seconds: int,
) -> list[Check]:
    """Return all checks of one answer, in a fixed order. Sizes in pixels, times in seconds."""
    return [
        own_boxes(pairs),
        box_sizes(pairs, image_width=image_width, image_height=image_height),
        clue_repeated(pairs),
        inferences_alike(pairs),
        pronouns(pairs),
        pace(active_seconds, usual_seconds),
    ]


def own_boxes(pairs: Sequence[ObservationPair]) -> Check:
    """Each pair has a box, and no two pairs stand on exactly the same spot."""
    for pair in pairs:
        if not pair.boxes:
            return Check(False, f"Pair {pair.index} has no box", "no box")
    spots: dict[frozenset[Box], list[int]] = {}
    for pair in pairs:
        spots.setdefault(frozenset(pair.boxes), []).append(pair.index)
    same = next((indices for indices in spots.values() if len(indices) > 1), None)
    if same:
        return Check(False, f"Pairs {_listed(same)} have the same box", "same box")
    return Check(True, "Each pair has its own box")


def box_sizes(pairs: Sequence[ObservationPair], *, image_width: int, image_height: int) -> Check:
    """No box is a speck, and none takes in the whole photo."""
    for pair in pairs:
        for box in pair.boxes:
            share = covered_share([box], image_width=image_width, image_height=image_height)
            if share < TINY_SHARE:
                return Check(False, f"A box of pair {pair.index} covers {share:.1%} of the photo", "tiny box")
            if share > HUGE_SHARE:
                return Check(False, f"A box of pair {pair.index} covers {share:.0%} of the photo", "huge box")
    return Check(True, "No tiny or huge box")


def clue_repeated(pairs: Sequence[ObservationPair]) -> Check:
    """No inference says its clue again."""
    for pair in pairs:
        clue, inference = words_of(pair.clue), words_of(pair.inference)
        if clue == inference or similarity(pair.clue, pair.inference) >= ALIKE:
            return Check(False, f"Pair {pair.index}: the inference repeats the clue", "clue repeated")
    return Check(True, "No clue repeated as inference")


def inferences_alike(pairs: Sequence[ObservationPair]) -> Check:
    """No two inferences say nearly the same."""
    for a, b in combinations(pairs, 2):
        if similarity(a.inference, b.inference) >= ALIKE:
            return Check(False, f"Inferences {a.index} and {b.index} are nearly the same", "two alike")
    return Check(True, "No two inferences alike")


def pronouns(pairs: Sequence[ObservationPair]) -> Check:
    """Nobody's gender is assumed by a pronoun."""
    for pair in pairs:
        found = find_pronouns(pair.inference) or find_pronouns(pair.clue)
        if found:
            word = found[0].text.lower()
            return Check(False, f"Pair {pair.index} says “{word}”", f"“{word}”")
    return Check(True, "No “he” or “she”")


def _listed(indices: Sequence[int]) -> str:
    return " and ".join([", ".join(str(i) for i in indices[:-1]), str(indices[-1])])
