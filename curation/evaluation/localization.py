"""Which region an inference belongs to, as on the Sherlock leaderboard.

Two separate measures: with the annotators' own regions (one-to-one assignment in each image) and with proposed
boxes (the best-scored one counts when its IoU with the true region is above one half). Both are a mean in each
image, then over images. Source: Hessel et al. 2022, section 5, doi:10.1007/978-3-031-20059-5_32.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from curation.evaluation.inputs import check_scores
from curation.records import InvalidInput

IOU_THRESHOLD = 0.5


@dataclass(frozen=True, slots=True)
class LocalizationScores:
    """Percentages, each with the number of images behind it; None where there is no image."""

    gt_accuracy: float | None
    gt_images: int
    auto_accuracy: float | None
    auto_images: int
    auto_oracle_accuracy: float | None


@dataclass(frozen=True, slots=True)
class TruePairs:
    """All pairs of one image's regions and inferences.

    test_ids and correct: [region][inference], square.
    """

    test_ids: tuple[tuple[str, ...], ...]
    correct: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ProposedBoxes:
    """One inference's proposed boxes in the order of the key. iou: overlap with the true region, 0 to 1."""

    test_ids: tuple[str, ...]
    iou: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LocalizationKey:
    """test_ids: every id that needs a score. true_pairs and proposals: by image."""

    test_ids: tuple[str, ...]
    true_pairs: Mapping[str, TruePairs]
    proposals: Mapping[str, tuple[ProposedBoxes, ...]]


@dataclass(slots=True)
class _Image:
    """What the key says about one image while it is being read."""

    pairs: dict[tuple[object, str], tuple[str, bool]] = field(default_factory=dict)
    proposals: dict[str, list[tuple[str, float]]] = field(default_factory=dict)


def parse_localization_key(raw: Mapping[str, Any]) -> LocalizationKey:
    """Read {test_id: {"type": "gt"|"auto", "image", "inst_id", ...}}.

    An entry of type gt has bbox_idx and correct, one of type auto has IoU. Raises InvalidInput naming the entry
    or the image that is malformed; the true pairs of an image must cover every region with every inference.
    """
    images: dict[str, _Image] = {}
    for test_id, entry in raw.items():
        _read_entry(test_id, entry, images)
    return LocalizationKey(
        test_ids=tuple(raw),
        true_pairs={name: _square(name, image.pairs) for name, image in images.items() if image.pairs},
        proposals={
            name: tuple(_proposed(boxes) for boxes in image.proposals.values())
            for name, image in images.items()
            if image.proposals
        },
    )


def assign_regions(similarity: NDArray[np.floating]) -> NDArray[np.intp]:
    """Give each region one inference so that the total similarity is the greatest.

    similarity: (n, n), region by inference. Returns the inference of each region, (n,).
    """
    return linear_sum_assignment(similarity, maximize=True)[1]


def score_localization(scores: Mapping[str, float], key: LocalizationKey) -> LocalizationScores:
    """Score {test id: similarity} against a key.

    Raises InvalidInput for missing, unknown or non-finite scores.
    """
    check_scores(scores, key.test_ids)
    true_pairs = [_true_pair_share(scores, pairs) for pairs in key.true_pairs.values()]
    hits = [
        float(np.mean([_proposal_hit(scores, boxes) for boxes in image])) for image in key.proposals.values()
    ]
    oracle = [float(np.mean([_any_hit(boxes) for boxes in image])) for image in key.proposals.values()]
    return LocalizationScores(
        gt_accuracy=_percent(true_pairs),
        gt_images=len(true_pairs),
        auto_accuracy=_percent(hits),
        auto_images=len(hits),
        auto_oracle_accuracy=_percent(oracle),
    )


def _true_pair_share(scores: Mapping[str, float], pairs: TruePairs) -> float:
    similarity = np.array([[scores[test_id] for test_id in row] for row in pairs.test_ids])
    chosen = assign_regions(similarity)
    return float(np.mean(pairs.correct[np.arange(len(chosen)), chosen]))


def _proposal_hit(scores: Mapping[str, float], boxes: ProposedBoxes) -> bool:
    best = int(np.argmax([scores[test_id] for test_id in boxes.test_ids]))  # the first one on a tie
    return bool(boxes.iou[best] > IOU_THRESHOLD)


def _any_hit(boxes: ProposedBoxes) -> bool:
    return bool((boxes.iou > IOU_THRESHOLD).any())


def _percent(shares: Iterable[float]) -> float | None:
    shares = list(shares)
    return float(100 * np.mean(shares)) if shares else None


def _read_entry(test_id: str, entry: object, images: dict[str, _Image]) -> None:
    if not isinstance(entry, dict):
        raise InvalidInput(f"answer key: {test_id!r} must be an object with type, image and inst_id")
    image = images.setdefault(_text(test_id, entry, "image"), _Image())
    inference = _text(test_id, entry, "inst_id")
    match entry.get("type"):
        case "gt":
            _add_pair(test_id, entry, inference, image)
        case "auto":
            image.proposals.setdefault(inference, []).append((test_id, _overlap(test_id, entry)))
        case other:
            raise InvalidInput(f"answer key: {test_id!r} has type {other!r}; it must be 'gt' or 'auto'")


def _add_pair(test_id: str, entry: dict[str, Any], inference: str, image: _Image) -> None:
    region, correct = entry.get("bbox_idx"), entry.get("correct")
    if isinstance(region, bool) or not isinstance(region, int | str):
        raise InvalidInput(f"answer key: {test_id!r} needs bbox_idx, the number of its region")
    if correct not in (True, False):
        raise InvalidInput(f"answer key: {test_id!r} needs correct, true or false")
    if (region, inference) in image.pairs:
        other = image.pairs[region, inference][0]
        raise InvalidInput(f"answer key: {other!r} and {test_id!r} ask for the same pair; keep one")
    image.pairs[region, inference] = (test_id, bool(correct))


def _text(test_id: str, entry: dict[str, Any], name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str):
        raise InvalidInput(f"answer key: {test_id!r} needs {name}, a string")
    return value


def _overlap(test_id: str, entry: dict[str, Any]) -> float:
    value = entry.get("IoU")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"answer key: {test_id!r} needs IoU, a finite number")
    return float(value)


def _square(name: str, pairs: Mapping[tuple[object, str], tuple[str, bool]]) -> TruePairs:
    regions = list(dict.fromkeys(region for region, _ in pairs))
    inferences = list(dict.fromkeys(inference for _, inference in pairs))
    if len(regions) != len(inferences) or len(pairs) != len(regions) * len(inferences):
        raise InvalidInput(
            f"answer key: image {name!r} has {len(pairs)} true pairs for {len(regions)} regions and "
            f"{len(inferences)} inferences; every region must be paired with every inference, as many of each"
        )
    cells = [[pairs[region, inference] for inference in inferences] for region in regions]
    return TruePairs(
        test_ids=tuple(tuple(test_id for test_id, _ in row) for row in cells),
        correct=np.array([[correct for _, correct in row] for row in cells], dtype=bool),
    )


def _proposed(boxes: list[tuple[str, float]]) -> ProposedBoxes:
    return ProposedBoxes(
        test_ids=tuple(test_id for test_id, _ in boxes), iou=np.array([iou for _, iou in boxes])
    )
