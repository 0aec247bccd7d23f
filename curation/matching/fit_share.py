"""Fit the share of preferred tags, so that shared tags do not give the right response away.

In the published set, choosing the response that shares the most tags with its query is right in 29 % (Ye & Kovashka
2021, doi:10.1609/aaai.v35i4.16428). The more often a tag of a wrong response goes to an object that the query or its
right response tags, the less a right response stands out. The draws of all pairs are fixed, so the figure changes
with the share alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.choice_shortcuts import CHANCE, POINT, rule_shares
from curation.matching.remap import TagDraw, Target, map_objects
from hits.domain.tagged_text import Segments, mentions

SHARE_STEPS = 1024  # shares are multiples of 1 / SHARE_STEPS


@dataclass(frozen=True, slots=True)
class WrongResponse:
    """A wrong choice before remapping: its text, the classes of its own image's objects, and the pair's draws."""

    response: Segments
    names: Sequence[str]
    draws: Sequence[TagDraw]


@dataclass(frozen=True, slots=True)
class SharedTags:
    """How many objects four choices share with their query, for every share of preferred tags.

    gold: (n,) of the right responses. thresholds: (n, w, s), ascending, of w wrong responses; a share above k of the
    thresholds gives counts[:, :, k]. counts: (n, w, s + 1).
    """

    gold: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    counts: NDArray[np.int64]

    def tag_overlap(self, share: float) -> float:
        """Return how often the most shared tags are the right response's, each of k equal ones counting 1/k."""
        passed = (self.thresholds < share).sum(axis=2, keepdims=True)
        wrong = np.take_along_axis(self.counts, passed, axis=2)[:, :, 0]
        scores = np.concatenate([self.gold[:, None], wrong], axis=1)
        found = rule_shares(scores, np.zeros(len(scores), np.int64)).expected_on_ties
        return CHANCE if found is None else found


@dataclass(frozen=True, slots=True)
class ShareFit:
    """share: of preferred tags. tag_overlap: at that share, and at both ends. in_reach: within a point of chance."""

    share: float
    tag_overlap: float
    at_zero: float
    at_one: float
    in_reach: bool


def count_shared_tags(
    query: Segments, gold: Segments, target: Target, wrong: Sequence[WrongResponse]
) -> tuple[int, list[tuple[list[float], list[int]]]]:
    """Return the objects that one query shares with its right response, and with wrong ones at every share.

    query: of the rationale, it is question and right answer together. A wrong response has thresholds and one count
    more, as in SharedTags.
    """
    asked = set(mentions(query))
    return len(asked & set(mentions(gold))), [_count_steps(asked, target, item) for item in wrong]


def _count_steps(asked: set[int], target: Target, item: WrongResponse) -> tuple[list[float], list[int]]:
    count = len(set(mentions(item.response)))
    thresholds = sorted(draw.threshold for draw in item.draws[:count])
    counts = [
        len(asked & set(map_objects(item.response, item.names, target, item.draws, share).values()))
        for share in (0.0, *(float(np.nextafter(threshold, 2.0)) for threshold in thresholds))
    ]
    return thresholds, counts


def stack_shared_tags(rows: Sequence[tuple[int, Sequence[tuple[list[float], list[int]]]]]) -> SharedTags:
    """Return the results of ``count_shared_tags`` for n queries with equally many wrong responses as arrays."""
    n, width = len(rows), len(rows[0][1]) if rows else 0
    steps = max((len(thresholds) for _, wrong in rows for thresholds, _ in wrong), default=0)
    shared = SharedTags(
        np.array([gold for gold, _ in rows], dtype=np.int64),
        np.full((n, width, steps), np.inf),
        np.zeros((n, width, steps + 1), np.int64),
    )
    for index, (_, wrong) in enumerate(rows):
        for position, (thresholds, counts) in enumerate(wrong):
            shared.thresholds[index, position, : len(thresholds)] = thresholds
            shared.counts[index, position, : len(counts)] = counts
    return shared


def fit_share(shared: SharedTags) -> ShareFit:
    """Return the share whose tag overlap is nearest to chance; an end of [0, 1] if chance is out of reach.

    More preferred tags lower the figure, so the share is found by bisection.
    """
    low, high = 0, SHARE_STEPS
    at_zero, at_one = shared.tag_overlap(0.0), shared.tag_overlap(1.0)
    found = {low: at_zero, high: at_one}
    while high - low > 1 and at_one < CHANCE < at_zero:
        middle = (low + high) // 2
        found[middle] = shared.tag_overlap(middle / SHARE_STEPS)
        low, high = (middle, high) if found[middle] > CHANCE else (low, middle)
    best = min(found, key=lambda step: (abs(found[step] - CHANCE), step))
    return ShareFit(best / SHARE_STEPS, found[best], at_zero, at_one, _is_in_reach(found[best]))


def measure_share(shared: SharedTags, share: float) -> ShareFit:
    """Return the figures of a share that is given, not fitted."""
    overlap = shared.tag_overlap(share)
    return ShareFit(share, overlap, shared.tag_overlap(0.0), shared.tag_overlap(1.0), _is_in_reach(overlap))


def _is_in_reach(tag_overlap: float) -> bool:
    return abs(tag_overlap - CHANCE) <= POINT
