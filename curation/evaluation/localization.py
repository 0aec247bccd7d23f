"""Find the region that an inference belongs to, as on the Sherlock leaderboard.

There are two separate measures. With the annotators' regions, inferences are assigned one to one in each image. With
proposed boxes, the best-scored box is a hit if its IoU with the true region is above 0.5. Both are averaged within
each image, then over images. Source: Hessel et al. 2022, section 5, doi:10.1007/978-3-031-20059-5_32.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.inputs import Scores, order_scores
from curation.records import InvalidInput

IOU_THRESHOLD = 0.5
GIVEN, PROPOSED = "gt", "auto"


@dataclass(frozen=True, slots=True)
class LocalizationScores:
    """Percentages, each with its number of images; None without images."""

    gt_accuracy: float | None
    gt_images: int
    auto_accuracy: float | None
    auto_images: int
    auto_oracle_accuracy: float | None


@dataclass(frozen=True, slots=True)
class LocalizationShares:
    """Each image's share of inferences with the right region, 0 to 1.

    given: with the annotators' regions, (g,). proposed and oracle: with proposed boxes, (p,); the oracle chooses the
    box with the greatest IoU.
    """

    given: NDArray[np.float64]
    proposed: NDArray[np.float64]
    oracle: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TruePairs:
    """All pairs of one image's regions and inferences: (n, n), region by inference.

    positions: of the pairs' ids in the key. correct: whether the inference belongs to the region.
    """

    positions: NDArray[np.intp]
    correct: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ProposedBoxes:
    """The boxes proposed for all inferences of all images, (m,) each, in the order of the key.

    positions: of their ids in the key. inference: index of the box's inference, 0 to q - 1. iou: overlap with that
    inference's true region, 0 to 1. image: of each inference, (q,), 0 to p - 1. names: of the images, (p,).
    """

    positions: NDArray[np.intp]
    inference: NDArray[np.intp]
    iou: NDArray[np.float64]
    image: NDArray[np.intp]
    names: tuple[str, ...] = ()

    @property
    def image_count(self) -> int:
        """Number of images with proposed boxes."""
        return len(np.unique(self.image))


@dataclass(frozen=True, slots=True)
class LocalizationKey:
    """The answer key of localization. test_ids: all ids that need a score. true_pairs: by image name."""

    test_ids: tuple[str, ...]
    true_pairs: Mapping[str, TruePairs]
    proposals: ProposedBoxes


def parse_localization_key(raw: Mapping[str, Any]) -> LocalizationKey:
    """Read {test_id: {"type": "gt"|"auto", "image", "inst_id", ...}}.

    An entry of type gt has bbox_idx and correct, one of type auto has IoU. Raises InvalidInput that names a malformed
    entry or image; the true pairs of an image must combine every region with every inference.
    """
    test_ids = tuple(raw)
    entries = list(raw.values())
    given, proposed = _split_by_type(test_ids, entries)
    pairs: dict[str, _Pairs] = {}
    for position in given:
        _add_pair(test_ids, position, entries[position], pairs)
    return LocalizationKey(
        test_ids=test_ids,
        true_pairs={name: _true_pairs(name, found) for name, found in pairs.items()},
        proposals=_proposed_boxes(test_ids, entries, proposed),
    )


def assign_regions(similarity: NDArray[np.floating]) -> NDArray[np.intp]:
    """Assign one inference to each region with the greatest total similarity.

    similarity: (n, n), region by inference. Returns the inference of each region, (n,).
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - the web process never loads scipy

    return linear_sum_assignment(similarity, maximize=True)[1]


def correct_shares(scores: Scores, key: LocalizationKey) -> LocalizationShares:
    """Return each image's share of correct inferences.

    Raises InvalidInput for missing, unknown or non-finite scores.
    """
    values = order_scores(scores, key.test_ids)
    given = [_true_pair_share(values, pairs) for pairs in key.true_pairs.values()]
    boxes = key.proposals
    return LocalizationShares(
        given=np.array(given, dtype=np.float64),
        proposed=_hit_shares(boxes, values[boxes.positions]),
        oracle=_hit_shares(boxes, boxes.iou),
    )


def score_localization(scores: Scores, key: LocalizationKey) -> LocalizationScores:
    """Return the measures of a model's scores.

    Raises InvalidInput for missing, unknown or non-finite scores.
    """
    shares = correct_shares(scores, key)
    return LocalizationScores(
        gt_accuracy=_mean_percent(shares.given),
        gt_images=len(shares.given),
        auto_accuracy=_mean_percent(shares.proposed),
        auto_images=len(shares.proposed),
        auto_oracle_accuracy=_mean_percent(shares.oracle),
    )


def _true_pair_share(values: NDArray[np.float64], pairs: TruePairs) -> float:
    chosen = assign_regions(values[pairs.positions])
    return float(np.mean(pairs.correct[np.arange(len(chosen)), chosen]))


def _hit_shares(boxes: ProposedBoxes, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each image's share of inferences whose best-scored box is a hit, the first box on a tie: (p,)."""
    if not boxes.positions.size:
        return np.zeros(0)
    order = np.lexsort((-score, boxes.inference))  # stable: equal scores keep the order of the key
    first = np.searchsorted(boxes.inference[order], np.arange(len(boxes.image)))
    hits = boxes.iou[order[first]] > IOU_THRESHOLD
    return np.bincount(boxes.image, weights=hits) / np.bincount(boxes.image)


def chance_shares(boxes: ProposedBoxes) -> NDArray[np.float64]:
    """Return each image's expected share of correct inferences for randomly drawn boxes: (p,)."""
    if not boxes.positions.size:
        return np.zeros(0)
    hits = np.bincount(boxes.inference, weights=boxes.iou > IOU_THRESHOLD) / np.bincount(boxes.inference)
    return np.bincount(boxes.image, weights=hits) / np.bincount(boxes.image)


def _mean_percent(shares: NDArray[np.float64]) -> float | None:
    return float(100 * shares.mean()) if shares.size else None


def _split_by_type(
    test_ids: Sequence[str], entries: Sequence[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions of the entries of type gt and of type auto."""
    if set(map(type, entries)) - {dict}:
        wrong = next(position for position, entry in enumerate(entries) if not isinstance(entry, dict))
        raise InvalidInput(f"answer key: {test_ids[wrong]!r} must be an object with type, image and inst_id")
    kinds = [entry.get("type") for entry in entries]
    is_given = np.fromiter((kind == GIVEN for kind in kinds), dtype=bool, count=len(kinds))
    is_proposed = np.fromiter((kind == PROPOSED for kind in kinds), dtype=bool, count=len(kinds))
    neither = np.flatnonzero(~(is_given | is_proposed))
    if neither.size:
        position = int(neither[0])
        raise InvalidInput(
            f"answer key: {test_ids[position]!r} has type {kinds[position]!r}; it must be 'gt' or 'auto'"
        )
    return np.flatnonzero(is_given), np.flatnonzero(is_proposed)


def _proposed_boxes(
    test_ids: Sequence[str], entries: Sequence[dict[str, Any]], positions: NDArray[np.intp]
) -> ProposedBoxes:
    selected = [entries[position] for position in positions.tolist()]
    ids = [test_ids[position] for position in positions.tolist()]
    images, inferences = _read_strings(ids, selected, "image"), _read_strings(ids, selected, "inst_id")
    numbers: dict[tuple[str, str], int] = {}
    inference = [numbers.setdefault(pair, len(numbers)) for pair in zip(images, inferences, strict=True)]
    names: dict[str, int] = {}
    image = [names.setdefault(name, len(names)) for name, _ in numbers]
    return ProposedBoxes(
        positions=positions,
        inference=np.array(inference, dtype=np.intp),
        iou=_read_ious(ids, selected),
        image=np.array(image, dtype=np.intp),
        names=tuple(names),
    )


def _read_strings(ids: Sequence[str], entries: Sequence[dict[str, Any]], name: str) -> list[str]:
    values = [entry.get(name) for entry in entries]
    if set(map(type, values)) <= {str}:
        return values  # type: ignore[return-value]
    wrong = next(position for position, value in enumerate(values) if not isinstance(value, str))
    raise InvalidInput(f"answer key: {ids[wrong]!r} needs {name}, a string")


def _read_ious(ids: Sequence[str], entries: Sequence[dict[str, Any]]) -> NDArray[np.float64]:
    values = [entry.get("IoU") for entry in entries]
    if set(map(type, values)) <= {int, float}:
        with suppress(OverflowError):  # an integer too large for a float
            ious = np.array(values, dtype=np.float64)
            if np.isfinite(ious).all():
                return ious
    wrong = next(position for position, value in enumerate(values) if not _is_number(value))
    raise InvalidInput(f"answer key: {ids[wrong]!r} needs IoU, a finite number")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


_Pairs = dict[tuple[int | str, str], tuple[int, bool]]
"""True pairs of an image while a key is read: (region, inference) -> position of the id, whether it is correct."""


def _add_pair(
    test_ids: Sequence[str], position: int, entry: dict[str, Any], images: dict[str, _Pairs]
) -> None:
    test_id = test_ids[position]
    (image,) = _read_strings([test_id], [entry], "image")
    (inference,) = _read_strings([test_id], [entry], "inst_id")
    region = entry.get("bbox_idx")
    if isinstance(region, bool) or not isinstance(region, int | str):
        raise InvalidInput(f"answer key: {test_id!r} needs bbox_idx, the number of its region")
    if entry.get("correct") not in (True, False):
        raise InvalidInput(f"answer key: {test_id!r} needs correct, true or false")
    pairs = images.setdefault(image, {})
    if (region, inference) in pairs:
        other = test_ids[pairs[region, inference][0]]
        raise InvalidInput(f"answer key: {other!r} and {test_id!r} are the same pair; keep one")
    pairs[region, inference] = (int(position), bool(entry["correct"]))


def _true_pairs(name: str, pairs: _Pairs) -> TruePairs:
    regions = list(dict.fromkeys(region for region, _ in pairs))
    inferences = list(dict.fromkeys(inference for _, inference in pairs))
    if len(regions) != len(inferences) or len(pairs) != len(regions) * len(inferences):
        raise InvalidInput(
            f"answer key: image {name!r} has {len(pairs)} true pairs for {len(regions)} regions and "
            f"{len(inferences)} inferences; every region must be paired with every "
            "inference, and their numbers must be equal"
        )
    cells = [[pairs[region, inference] for inference in inferences] for region in regions]
    return TruePairs(
        positions=np.array([[position for position, _ in row] for row in cells], dtype=np.intp),
        correct=np.array([[correct for _, correct in row] for row in cells], dtype=bool),
    )
