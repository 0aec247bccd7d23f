"""Which region an inference belongs to, as on the Sherlock leaderboard.

Two separate measures: with the annotators' own regions (one-to-one assignment in each image) and with proposed
boxes (the best-scored one counts when its IoU with the true region is above one half). Both are a mean in each
image, then over images. Source: Hessel et al. 2022, section 5, doi:10.1007/978-3-031-20059-5_32.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.inputs import Scores, in_order
from curation.records import InvalidInput

IOU_THRESHOLD = 0.5
GIVEN, PROPOSED = "gt", "auto"


@dataclass(frozen=True, slots=True)
class LocalizationScores:
    """Percentages, each with the number of images behind it; None where there is no image."""

    gt_accuracy: float | None
    gt_images: int
    auto_accuracy: float | None
    auto_images: int
    auto_oracle_accuracy: float | None


@dataclass(frozen=True, slots=True)
class LocalizationShares:
    """Share of an image's inferences that got the right region, 0 to 1, for each image of a kind in turn.

    given: with the annotators' regions, (g,). proposed and oracle: with proposed boxes, (p,), the oracle choosing
    the box of the greatest IoU.
    """

    given: NDArray[np.float64]
    proposed: NDArray[np.float64]
    oracle: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TruePairs:
    """All pairs of one image's regions and inferences.

    places, correct: (n, n), region by inference. places are those of the pairs' ids among the key's.
    """

    places: NDArray[np.intp]
    correct: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ProposedBoxes:
    """The boxes proposed for all inferences of all images, (m,) each, in the order of the key.

    places: of their ids among the key's. inference: which one a box is proposed for, 0 to q - 1. iou: overlap with
    that inference's true region, 0 to 1. image: of each inference, (q,), 0 to p - 1. names: of the images, (p,).
    """

    places: NDArray[np.intp]
    inference: NDArray[np.intp]
    iou: NDArray[np.float64]
    image: NDArray[np.intp]
    names: tuple[str, ...] = ()

    @property
    def images(self) -> int:
        """How many images have proposed boxes."""
        return len(np.unique(self.image))


@dataclass(frozen=True, slots=True)
class LocalizationKey:
    """test_ids: every id that needs a score. true_pairs: by image."""

    test_ids: tuple[str, ...]
    true_pairs: Mapping[str, TruePairs]
    proposals: ProposedBoxes


def parse_localization_key(raw: Mapping[str, Any]) -> LocalizationKey:
    """Read {test_id: {"type": "gt"|"auto", "image", "inst_id", ...}}.

    An entry of type gt has bbox_idx and correct, one of type auto has IoU. Raises InvalidInput naming the entry
    or the image that is malformed; the true pairs of an image must cover every region with every inference.
    """
    test_ids = tuple(raw)
    entries = list(raw.values())
    given, proposed = _kinds(test_ids, entries)
    pairs: dict[str, _Pairs] = {}
    for place in given:
        _read_pair(test_ids, place, entries[place], pairs)
    return LocalizationKey(
        test_ids=test_ids,
        true_pairs={name: _square(name, found) for name, found in pairs.items()},
        proposals=_proposals(test_ids, entries, proposed),
    )


def assign_regions(similarity: NDArray[np.floating]) -> NDArray[np.intp]:
    """Give each region one inference so that the total similarity is the greatest.

    similarity: (n, n), region by inference. Returns the inference of each region, (n,).
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - the web process never loads scipy

    return linear_sum_assignment(similarity, maximize=True)[1]


def shares_of(scores: Scores, key: LocalizationKey) -> LocalizationShares:
    """Return how much of each image was right.

    Raises InvalidInput for missing, unknown or non-finite scores.
    """
    values = in_order(scores, key.test_ids)
    given = [_true_pair_share(values, pairs) for pairs in key.true_pairs.values()]
    boxes = key.proposals
    return LocalizationShares(
        given=np.array(given, dtype=np.float64),
        proposed=_hit_shares(boxes, values[boxes.places]),
        oracle=_hit_shares(boxes, boxes.iou),
    )


def score_localization(scores: Scores, key: LocalizationKey) -> LocalizationScores:
    """Score similarities against a key.

    Raises InvalidInput for missing, unknown or non-finite scores.
    """
    shares = shares_of(scores, key)
    return LocalizationScores(
        gt_accuracy=_percent(shares.given),
        gt_images=len(shares.given),
        auto_accuracy=_percent(shares.proposed),
        auto_images=len(shares.proposed),
        auto_oracle_accuracy=_percent(shares.oracle),
    )


def _true_pair_share(values: NDArray[np.float64], pairs: TruePairs) -> float:
    chosen = assign_regions(values[pairs.places])
    return float(np.mean(pairs.correct[np.arange(len(chosen)), chosen]))


def _hit_shares(boxes: ProposedBoxes, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each image's share of inferences whose best-scored box is right, the first one on a tie: (p,)."""
    if not boxes.places.size:
        return np.zeros(0)
    order = np.lexsort((-score, boxes.inference))  # stable, so equal scores stay in the order of the key
    first = np.searchsorted(boxes.inference[order], np.arange(len(boxes.image)))
    hits = boxes.iou[order[first]] > IOU_THRESHOLD
    return np.bincount(boxes.image, weights=hits) / np.bincount(boxes.image)


def chance_shares(boxes: ProposedBoxes) -> NDArray[np.float64]:
    """Return each image's share of inferences that get the right region when a box is drawn by lot: (p,)."""
    if not boxes.places.size:
        return np.zeros(0)
    hits = np.bincount(boxes.inference, weights=boxes.iou > IOU_THRESHOLD) / np.bincount(boxes.inference)
    return np.bincount(boxes.image, weights=hits) / np.bincount(boxes.image)


def _percent(shares: NDArray[np.float64]) -> float | None:
    return float(100 * shares.mean()) if shares.size else None


def _kinds(test_ids: Sequence[str], entries: Sequence[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the entries of type gt and of type auto."""
    if set(map(type, entries)) - {dict}:
        wrong = next(place for place, entry in enumerate(entries) if not isinstance(entry, dict))
        raise InvalidInput(f"answer key: {test_ids[wrong]!r} must be an object with type, image and inst_id")
    kinds = [entry.get("type") for entry in entries]
    is_given = np.fromiter((kind == GIVEN for kind in kinds), dtype=bool, count=len(kinds))
    is_proposed = np.fromiter((kind == PROPOSED for kind in kinds), dtype=bool, count=len(kinds))
    neither = np.flatnonzero(~(is_given | is_proposed))
    if neither.size:
        place = int(neither[0])
        raise InvalidInput(
            f"answer key: {test_ids[place]!r} has type {kinds[place]!r}; it must be 'gt' or 'auto'"
        )
    return np.flatnonzero(is_given), np.flatnonzero(is_proposed)


def _proposals(
    test_ids: Sequence[str], entries: Sequence[dict[str, Any]], places: NDArray[np.intp]
) -> ProposedBoxes:
    found = [entries[place] for place in places.tolist()]
    ids = [test_ids[place] for place in places.tolist()]
    images, inferences = _texts(ids, found, "image"), _texts(ids, found, "inst_id")
    numbers: dict[tuple[str, str], int] = {}
    inference = [numbers.setdefault(pair, len(numbers)) for pair in zip(images, inferences, strict=True)]
    names: dict[str, int] = {}
    image = [names.setdefault(name, len(names)) for name, _ in numbers]
    return ProposedBoxes(
        places=places,
        inference=np.array(inference, dtype=np.intp),
        iou=_overlaps(ids, found),
        image=np.array(image, dtype=np.intp),
        names=tuple(names),
    )


def _texts(ids: Sequence[str], entries: Sequence[dict[str, Any]], name: str) -> list[str]:
    values = [entry.get(name) for entry in entries]
    if set(map(type, values)) <= {str}:
        return values  # type: ignore[return-value]
    wrong = next(place for place, value in enumerate(values) if not isinstance(value, str))
    raise InvalidInput(f"answer key: {ids[wrong]!r} needs {name}, a string")


def _overlaps(ids: Sequence[str], entries: Sequence[dict[str, Any]]) -> NDArray[np.float64]:
    values = [entry.get("IoU") for entry in entries]
    if set(map(type, values)) <= {int, float}:
        with suppress(OverflowError):  # a whole number that no float can be
            found = np.array(values, dtype=np.float64)
            if np.isfinite(found).all():
                return found
    wrong = next(place for place, value in enumerate(values) if not _is_number(value))
    raise InvalidInput(f"answer key: {ids[wrong]!r} needs IoU, a finite number")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


_Pairs = dict[tuple[int | str, str], tuple[int, bool]]
"""True pairs of an image while a key is read: (region, inference) -> place among the ids, whether it is correct."""


def _read_pair(test_ids: Sequence[str], place: int, entry: dict[str, Any], images: dict[str, _Pairs]) -> None:
    test_id = test_ids[place]
    (image,) = _texts([test_id], [entry], "image")
    (inference,) = _texts([test_id], [entry], "inst_id")
    region = entry.get("bbox_idx")
    if isinstance(region, bool) or not isinstance(region, int | str):
        raise InvalidInput(f"answer key: {test_id!r} needs bbox_idx, the number of its region")
    if entry.get("correct") not in (True, False):
        raise InvalidInput(f"answer key: {test_id!r} needs correct, true or false")
    pairs = images.setdefault(image, {})
    if (region, inference) in pairs:
        other = test_ids[pairs[region, inference][0]]
        raise InvalidInput(f"answer key: {other!r} and {test_id!r} ask for the same pair; keep one")
    pairs[region, inference] = (int(place), bool(entry["correct"]))


def _square(name: str, pairs: _Pairs) -> TruePairs:
    regions = list(dict.fromkeys(region for region, _ in pairs))
    inferences = list(dict.fromkeys(inference for _, inference in pairs))
    if len(regions) != len(inferences) or len(pairs) != len(regions) * len(inferences):
        raise InvalidInput(
            f"answer key: image {name!r} has {len(pairs)} true pairs for {len(regions)} regions and "
            f"{len(inferences)} inferences; every region must be paired with every inference, as many of each"
        )
    cells = [[pairs[region, inference] for inference in inferences] for region in regions]
    return TruePairs(
        places=np.array([[place for place, _ in row] for row in cells], dtype=np.intp),
        correct=np.array([[correct for _, correct in row] for row in cells], dtype=bool),
    )
