"""Object detection models of ``transformers``, from the hub or a folder, as proposers of boxes.

What a model calls a box is left aside; its score is how sure it is of its best guess. The paper's proposals are a
detector's too (Faster R-CNN trained on Visual Genome, 000 §4.2).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image as Pillow

from curation.proposals.boxes import distinct, suppress, whole_pixels
from curation.proposals.detector import LIMIT, DetectorUnavailable, Found

BATCH = 8


class HuggingFaceDetector:
    """A model for ``AutoModelForObjectDetection``. Weights are read as safetensors, never unpickled."""

    def __init__(
        self, source: str, *, limit: int = LIMIT, suppress_over: float | None = None, device: str = ""
    ) -> None:
        self._model, self._processor = _load(source)
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._model.to(self._device)
        self._limit = limit
        self._suppress_over = suppress_over
        folder = Path(source)
        self.name = f"hf:{folder.name if folder.is_dir() else source}"
        self.revision = _revision(self._model, folder)

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[Found]:
        """Return the boxes of each RGB picture. Pictures of one size go through the model together."""
        found: dict[int, Found] = {}
        for places in _same_size(pictures):
            for start in range(0, len(places), BATCH):
                few = places[start : start + BATCH]
                found.update(zip(few, self._detect([pictures[place] for place in few]), strict=True))
        return [found[place] for place in range(len(pictures))]

    def _detect(self, pictures: Sequence[Pillow.Image]) -> list[Found]:
        inputs = self._processor(images=list(pictures), return_tensors="pt").to(self._device)
        with torch.inference_mode():
            outputs = self._model(**inputs)
        sizes = [(picture.height, picture.width) for picture in pictures]
        # A threshold below every score: ranking and the limit choose, not a model's usual threshold.
        raw = self._processor.post_process_object_detection(outputs, threshold=-1.0, target_sizes=sizes)
        return [self._ranked(one, picture) for one, picture in zip(raw, pictures, strict=True)]

    def _ranked(self, raw: dict[str, Any], picture: Pillow.Image) -> Found:
        scores = raw["scores"].double().cpu().numpy()
        order = np.argsort(-scores, kind="stable")
        scores = scores[order]
        boxes = raw["boxes"].double().cpu().numpy()[order]
        corners = whole_pixels(boxes, width=picture.width, height=picture.height)
        kept = distinct(corners)  # some models give one box once per class
        if self._suppress_over is not None:
            kept = kept[suppress(corners[kept], over=self._suppress_over, limit=self._limit)]
        kept = kept[: self._limit]
        return Found(corners[kept], scores[kept])


def _load(source: str) -> tuple[Any, Any]:
    from safetensors import SafetensorError  # noqa: PLC0415
    from transformers import AutoImageProcessor, AutoModelForObjectDetection  # noqa: PLC0415 - takes seconds

    try:
        model = AutoModelForObjectDetection.from_pretrained(source, use_safetensors=True).eval()
        processor = AutoImageProcessor.from_pretrained(source, backend="pil")
    except ImportError as error:
        package = (
            "timm" if "timm" in str(error) else "torchvision" if "torchvision" in str(error) else str(error)
        )
        raise DetectorUnavailable(
            f"detector {source!r} needs a package that is not installed here ({package}); "
            "use a model that does without, such as hustvl/yolos-tiny"
        ) from error
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:  # also cut-off or other weights
        raise DetectorUnavailable(
            f"detector {source!r} cannot be had: name a folder with config.json, preprocessor_config.json and "
            "model.safetensors of an object detection model, or a hub id that this machine can download"
        ) from error
    if not hasattr(processor, "post_process_object_detection"):
        raise DetectorUnavailable(
            f"detector {source!r}: its model proposes no boxes; name an object detection model"
        )
    return model, processor


def _revision(model: Any, folder: Path) -> str:
    """The hub's commit, or the hash of a folder's weights, so that a run is never resumed with others."""
    commit = getattr(model.config, "_commit_hash", None)
    if commit:
        return str(commit)
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{digest.hexdigest()[:32]}"


def _same_size(pictures: Sequence[Pillow.Image]) -> list[list[int]]:
    """Places of pictures by their size: padding would shift the boxes of models that take no mask."""
    places: dict[tuple[int, int], list[int]] = {}
    for place, picture in enumerate(pictures):
        places.setdefault(picture.size, []).append(place)
    return list(places.values())
