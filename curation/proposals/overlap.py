"""How well proposals cover the boxes that people drew.

A pair is covered if a proposal's IoU with any of its boxes is strictly above the threshold; above 0.5 it is
*solvable* in the localization measure. Source: Hessel et al. 2022 §4.2 "Auto bounding boxes" with its footnotes,
where 96.2 % of the instances are solvable; the official scorer compares strictly.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from curation.proposals.boxes import to_corners
from validation.domain.agreement.box_agreement import IOU_THRESHOLD, iou_matrix

THRESHOLDS = (IOU_THRESHOLD, 0.7, 0.9)
PAPER_SOLVABLE = 0.962


def best_overlaps(proposed: NDArray[np.number], pair_boxes: NDArray[np.number]) -> NDArray[np.float64]:
    """Return each proposal's greatest IoU with any of a pair's boxes: (k,).

    proposed: (k, 4), pair_boxes: (m, 4), m > 0: left, top, width, height in image pixels.
    """
    return iou_matrix(to_corners(proposed), to_corners(pair_boxes)).max(axis=1)


@dataclass(frozen=True, slots=True)
class Recall:
    """The share of pairs that the first 1, 2, … proposals cover.

    ``curves``: per threshold, one share for each number of proposals up to the limit. ``solvable``: share of pairs
    with a proposal above 0.5. ``by_image``: that share within each image, averaged over images (the official scorer's
    oracle figure). ``images_solvable``: share of images with a solvable pair. ``mean_best``: mean of the pairs' best
    IoU. All are from 0 to 1, and ``None`` without pairs.
    """

    pairs: int
    images: int
    curves: dict[float, list[float]]
    solvable: float | None
    by_image: float | None
    images_solvable: float | None
    mean_best: float | None

    def share_covered(self, count: int, threshold: float) -> float | None:
        """Return the share covered by the first ``count`` proposals; counts beyond the limit equal the limit."""
        curve = self.curves[threshold]
        return curve[min(count, len(curve)) - 1] if self.pairs else None


@dataclass(slots=True)
class RecallAccumulator:
    """Accumulates the IoU of pairs, image by image; at most ``limit`` proposals per image count."""

    limit: int
    _counts: dict[float, NDArray[np.int64]] = field(init=False)
    _pairs: int = 0
    _images: int = 0
    _solvable_images: int = 0
    _shares: float = 0.0
    _best: float = 0.0

    def __post_init__(self) -> None:
        self._counts = {threshold: np.zeros(self.limit, dtype=np.int64) for threshold in THRESHOLDS}

    def add_image(self, pair_overlaps: Iterable[list[float]]) -> None:
        """Add one image's pairs. Each pair is given as the IoU of every proposal with it, best proposal first."""
        solvable = count = 0
        for ious in pair_overlaps:
            best = np.zeros(self.limit)
            running_best = np.maximum.accumulate(np.array(ious or [0.0])[: self.limit])
            best[: len(running_best)], best[len(running_best) :] = running_best, running_best[-1]
            for threshold in THRESHOLDS:
                self._counts[threshold] += best > threshold
            solvable += bool(best[-1] > IOU_THRESHOLD)
            count += 1
            self._best += float(best[-1])
        if count:
            self._pairs += count
            self._images += 1
            self._solvable_images += solvable > 0
            self._shares += solvable / count

    def recall(self) -> Recall:
        """Return the shares over all added pairs."""
        pairs, images = self._pairs, self._images
        curves = {t: (counts / max(pairs, 1)).tolist() for t, counts in self._counts.items()}
        return Recall(
            pairs=pairs,
            images=images,
            curves=curves,
            solvable=curves[IOU_THRESHOLD][-1] if pairs else None,
            by_image=self._shares / images if images else None,
            images_solvable=self._solvable_images / images if images else None,
            mean_best=self._best / pairs if pairs else None,
        )
