"""Objects with outlines from instance segmentation models of ``transformers``, from the hub or a folder.

Zellers et al. 2019 §B.1 use Mask R-CNN. Its place is taken by models that ``transformers`` loads without further
packages, such as Mask2Former; their masks become polygons.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.weights import SHA_PREFIX, folder_sha256, resolve_model_folder
from curation.proposals.detector import DEFAULT_LIMIT, DetectedBoxes, DetectorUnavailable
from curation.proposals.hugging_face import ModelTask, class_name, load_model
from curation.proposals.polygons import Mask, mask_polygons

SEGMENTATION = ModelTask(
    "AutoModelForUniversalSegmentation",
    "post_process_instance_segmentation",
    "instance segmentation model",
)


class SegmentationDetector:
    """A model for ``AutoModelForUniversalSegmentation``. Weights are read as safetensors, never unpickled.

    limit: maximum objects per image. min_score: objects with a lower score are left out. revision: the commit of a
    hub id; empty means the current commit. Folders ignore it.
    """

    parallel = True  # thread-safe

    def __init__(
        self,
        source: str,
        *,
        limit: int = DEFAULT_LIMIT,
        min_score: float = 0.0,
        revision: str = "",
        device: str = "",
    ) -> None:
        folder = resolve_model_folder(source, DetectorUnavailable)
        loaded = load_model(source, SEGMENTATION, from_hub=folder is None, requested_commit=revision)
        self._model, self._processor, commit = loaded
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._model.to(self._device)
        self._limit, self._min_score = limit, min_score
        self.name = f"mask:{folder.name if folder else source}"
        self.revision = SHA_PREFIX + folder_sha256(folder) if folder else commit

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the objects of each RGB image, processed one by one, so that a batch does not change them."""
        return [self._detect(picture) for picture in pictures]

    def _detect(self, picture: Pillow.Image) -> DetectedBoxes:
        inputs = self._processor(images=[picture], return_tensors="pt").to(self._device)
        with torch.inference_mode():
            outputs = self._model(**inputs)
        read = self._processor.post_process_instance_segmentation
        # Masks may overlap; one map for all of them would cut the earlier ones.
        overlapping = {"return_binary_maps": True} if "return_binary_maps" in _parameters(read) else {}
        size = (picture.height, picture.width)
        (raw,) = read(outputs, threshold=self._min_score, target_sizes=[size], **overlapping)
        return rank_masks(_masks(raw), self._labels(raw), _scores(raw), limit=self._limit)

    def _labels(self, raw: dict[str, Any]) -> list[str]:
        return [class_name(self._model, segment["label_id"]) for segment in raw["segments_info"]]


def rank_masks(
    masks: Sequence[Mask], labels: Sequence[str], scores: Sequence[float], *, limit: int
) -> DetectedBoxes:
    """Return masks as boxes with outlines, best first.

    Masks without a pixel have no box and are left out, and so are repeats of a mask: some models name one object by
    several classes.

    Args:
        masks: (h, w) each. limit: the number of objects to keep.
    """
    filled = [index for index, mask in enumerate(masks) if mask.any()]
    order = sorted(filled, key=lambda index: -scores[index])  # stable
    first = {masks[index].tobytes(): index for index in reversed(order)}
    chosen = [index for index in order if first[masks[index].tobytes()] == index][:limit]
    corners = [_mask_corners(masks[index]) for index in chosen]
    return DetectedBoxes(
        np.array(corners, dtype=np.int64).reshape(-1, 4),
        np.array([scores[index] for index in chosen], dtype=np.float64),
        tuple(labels[index] for index in chosen),
        tuple(mask_polygons(masks[index]) for index in chosen),
    )


def _mask_corners(mask: Mask) -> tuple[int, int, int, int]:
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _masks(raw: dict[str, Any]) -> list[NDArray[np.bool_]]:
    """Return the mask of each segment: from a map for each, or from one map of segment numbers."""
    segments = raw["segments_info"]
    if not segments:
        return []
    maps = raw["segmentation"].cpu().numpy()
    if maps.ndim == 3:  # noqa: PLR2004 - a map for each segment
        return [found > 0 for found in maps]
    return [maps == segment["id"] for segment in segments]


def _scores(raw: dict[str, Any]) -> list[float]:
    return [float(segment["score"]) for segment in raw["segments_info"]]


def _parameters(function: Any) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)
