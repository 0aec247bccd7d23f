"""A class-agnostic detector without weights: Selective Search, with a ranking for few boxes.

Boxes come from the grouping of Uijlings et al. 2013 (doi:10.1007/s11263-013-0620-5) over several segmentations by
Felzenszwalb and Huttenlocher 2004 (doi:10.1023/B:VISI.0000022288.19776.77), on a small copy of the image. The ranking
of Uijlings et al. is partly random and meant for thousands of boxes. The ranking here is for a hundred boxes:

1. A box has a high weight if superpixels do not straddle its edge (Alexe, Deselaers and Ferrari 2012, section 3.5,
   doi:10.1109/TPAMI.2012.28), and if it is high in the hierarchy.
2. Boxes are picked greedily by the gain in covered weight (maximum coverage, Nemhauser, Wolsey and Fisher 1978,
   doi:10.1007/BF01588971). A box on which several segmentations agree comes early, its near copies add little, and
   every prefix of the list covers well.

The method is deterministic and has no learned weights: equal pixels give equal boxes.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from skimage.color import rgb2hsv, rgb2lab
from skimage.segmentation import felzenszwalb

from curation.proposals.boxes import find_distinct_boxes, round_to_pixels
from curation.proposals.detector import CLASSICAL, DEFAULT_LIMIT, DetectedBoxes
from curation.proposals.grouping import SimilarityRule, describe_superpixels, group_superpixels
from validation.domain.agreement.box_agreement import iou_matrix

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

COPY_SIDE = 320  # pixels of the longer side of the small copy
LAB_OFFSET, LAB_SPAN = np.array([0.0, 128.0, 128.0]), np.array([100.0, 255.0, 255.0])
SMOOTHING = 0.8  # sigma of Felzenszwalb and Huttenlocher 2004
MIN_SUPERPIXEL = 20  # pixels of the copy
MIN_AREA_SHARE = 0.0015  # of the image: smaller than the boxes that people draw
STRIDE = 4  # straddling is measured on every fourth pixel
TOP_LEVELS = 10.0  # added to a level before the logarithm: differences between the top levels count little
MAX_CANDIDATES = 1500
MIN_COVER_IOU = 0.5  # IoU above which one box partly covers another


class ColourSpace(Enum):
    """Colour spaces; channels are scaled to 0 to 1."""

    LAB = "Lab"
    HSV = "HSV"


@dataclass(frozen=True, slots=True)
class SegmentationSettings:
    """How to find superpixels. ``scale`` is Felzenszwalb's k: greater values give larger superpixels."""

    colour_space: ColourSpace
    scale: float


SEGMENTATIONS = (SegmentationSettings(ColourSpace.LAB, 50), SegmentationSettings(ColourSpace.HSV, 150))


class SelectiveSearch:
    """Proposes the boxes of a hierarchical grouping, best first."""

    name = CLASSICAL

    def __init__(
        self, *, limit: int = DEFAULT_LIMIT, segmentations: Sequence[SegmentationSettings] = SEGMENTATIONS
    ) -> None:
        self._limit = limit
        self._segmentations = tuple(segmentations)
        self.revision = f"selective-search/1, scikit-image {_library_version()}"

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the boxes of each RGB image."""
        return [self._propose(picture) for picture in pictures]

    def _propose(self, picture: Pillow.Image) -> DetectedBoxes:
        small = _small_copy(picture)
        channels = [_channels(small, segmentation.colour_space) for segmentation in self._segmentations]
        pairs = zip(channels, self._segmentations, strict=True)
        labels = [_segment(values, segmentation.scale) for values, segmentation in pairs]
        corners, levels = _group_all_segmentations(labels, channels)
        corners, levels = _deduplicate_and_drop_tiny_boxes(corners, levels, small.size)
        fits = [edge_fit(corners, superpixels) for superpixels in labels]
        weights = np.mean(fits, axis=0) / np.log(levels + TOP_LEVELS)
        chosen, gains = pick_covering_boxes(corners, weights, limit=self._limit)
        scale = np.array([picture.width / small.width, picture.height / small.height] * 2)
        whole = round_to_pixels(corners[chosen] * scale, width=picture.width, height=picture.height)
        kept = find_distinct_boxes(whole)
        return DetectedBoxes(whole[kept], gains[kept])


def edge_fit(corners: IntArray, labels: IntArray) -> FloatArray:
    """Return how well the edges of boxes follow superpixels: (k,), 1 if no superpixel straddles the edge.

    corners: (k, 4) left, top, right, bottom in pixels of ``labels`` (h, w). Source: Alexe et al. 2012, equation 9
    (superpixel straddling), measured on every fourth pixel.
    """
    thinned = labels[::STRIDE, ::STRIDE]
    inside = _count_label_pixels(np.rint(corners / STRIDE).astype(np.int64), thinned)  # (k, n)
    sizes = np.bincount(thinned.ravel(), minlength=inside.shape[1])
    straddled = np.minimum(inside, sizes - inside).sum(axis=1)
    return 1.0 - straddled / np.maximum(inside.sum(axis=1), 1)


def pick_covering_boxes(
    corners: IntArray, weights: FloatArray, *, limit: int
) -> tuple[NDArray[np.intp], FloatArray]:
    """Pick up to ``limit`` boxes greedily by their gain in covered weight; return their rows and gains.

    corners: (k, 4), each with an area; weights: (k,), not negative. A picked box covers (IoU - 0.5) / 0.5 of another
    box's weight; for each box, the best cover counts. The covered weight is submodular: gains never rise, so an
    earlier gain is an upper bound, and only the highest gains are recomputed. Of equal gains, the lower row wins.
    """
    candidates = np.sort(np.argsort(-weights, kind="stable")[:MAX_CANDIDATES])
    boxes = corners[candidates].astype(np.float64)
    candidate_weights = weights[candidates]
    coverage = np.clip((iou_matrix(boxes, boxes) - MIN_COVER_IOU) / (1 - MIN_COVER_IOU), 0, 1)  # (c, c)
    covered = np.zeros(len(candidates))
    bounds = [(-gain, row) for row, gain in enumerate((coverage @ candidate_weights).tolist())]
    heapq.heapify(bounds)
    chosen: list[int] = []
    gains: list[float] = []
    while bounds and len(chosen) < limit:
        _, row = heapq.heappop(bounds)
        gain = float(np.maximum(coverage[row] - covered, 0) @ candidate_weights)
        if bounds and (-gain, row) > bounds[0]:
            heapq.heappush(bounds, (-gain, row))
            continue
        np.maximum(covered, coverage[row], out=covered)
        chosen.append(row)
        gains.append(gain)
    return candidates[chosen], np.minimum.accumulate(np.array(gains))


def _group_all_segmentations(
    labels: Sequence[IntArray], channels: Sequence[FloatArray]
) -> tuple[IntArray, FloatArray]:
    """Return the boxes of all groupings, (m, 4), and their levels below the top of the hierarchy, (m,)."""
    boxes = []
    for superpixels, values in zip(labels, channels, strict=True):
        regions = describe_superpixels(superpixels, values)
        boxes += [group_superpixels(regions, rule) for rule in SimilarityRule]
    levels = [np.arange(len(found), dtype=np.float64)[::-1] for found in boxes]
    return np.concatenate(boxes), np.concatenate(levels)


def _deduplicate_and_drop_tiny_boxes(
    corners: IntArray, levels: FloatArray, size: tuple[int, int]
) -> tuple[IntArray, FloatArray]:
    """Return each box once, with its level nearest to the top; tiny boxes are omitted."""
    distinct_boxes, inverse = np.unique(corners, axis=0, return_inverse=True)
    nearest = np.full(len(distinct_boxes), np.inf)
    np.minimum.at(nearest, inverse.ravel(), levels)
    areas = (distinct_boxes[:, 2:] - distinct_boxes[:, :2]).prod(axis=1)
    large = areas >= MIN_AREA_SHARE * size[0] * size[1]
    return distinct_boxes[large], nearest[large]


def _count_label_pixels(corners: IntArray, labels: IntArray) -> IntArray:
    """Return the pixels of each label within each box, by summed-area tables: (k, n)."""
    height, width = labels.shape
    sums = np.zeros((height + 1, width + 1, int(labels.max()) + 1), dtype=np.int32)
    rows, columns = np.indices(labels.shape)
    sums[rows + 1, columns + 1, labels] = 1
    np.cumsum(sums, axis=0, out=sums)
    np.cumsum(sums, axis=1, out=sums)
    left, top, right, bottom = np.minimum(corners, [width, height, width, height]).T
    inside: IntArray = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return inside


def _small_copy(picture: Pillow.Image) -> Pillow.Image:
    """Return the image with at most 320 pixels per side, and at least two: derivatives need a neighbour."""
    factor = min(1.0, COPY_SIDE / max(picture.size))
    size = (max(2, round(picture.width * factor)), max(2, round(picture.height * factor)))
    return picture if size == picture.size else picture.resize(size, Pillow.Resampling.BOX)


def _channels(picture: Pillow.Image, colour_space: ColourSpace) -> FloatArray:
    """Return the pixels in a colour space: (h, w, 3), 0 to 1."""
    pixels = np.asarray(picture.convert("RGB"), dtype=np.float64) / 255
    if colour_space is ColourSpace.HSV:
        return np.asarray(rgb2hsv(pixels))
    lab = np.asarray(rgb2lab(pixels))
    return np.clip((lab + LAB_OFFSET) / LAB_SPAN, 0, 1)


def _segment(channels: FloatArray, scale: float) -> IntArray:
    found = felzenszwalb(channels, scale=scale, sigma=SMOOTHING, min_size=MIN_SUPERPIXEL)
    return np.asarray(found, dtype=np.int64)


@cache
def _library_version() -> str:
    return version("scikit-image")
