"""Object detection models of ``transformers``, from the hub or a folder, as proposers of boxes.

What a model calls a box is left aside; its score is how sure it is of its best guess. The paper's proposals are a
detector's too (Faster R-CNN trained on Visual Genome, 000 §4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image as Pillow

from curation.features.weights import SHA_PREFIX, folder_sha256, hub_commit, resolve_folder
from curation.proposals.boxes import find_distinct, round_to_pixels, suppress
from curation.proposals.detector import DEFAULT_LIMIT, DetectedBoxes, DetectorUnavailable


class HuggingFaceDetector:
    """A model for ``AutoModelForObjectDetection``. Weights are read as safetensors, never unpickled.

    revision: the commit of a hub id, its present one when empty; a folder has but one.
    """

    parallel = True  # several threads may call it at once

    def __init__(
        self,
        source: str,
        *,
        limit: int = DEFAULT_LIMIT,
        suppress_over: float | None = None,
        revision: str = "",
        device: str = "",
    ) -> None:
        folder = resolve_folder(source, DetectorUnavailable)
        self._model, self._processor, commit = _load_model(
            source, from_hub=folder is None, requested_commit=revision
        )
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._model.to(self._device)
        self._limit = limit
        self._suppress_over = suppress_over
        self.name = f"hf:{folder.name if folder else source}"
        self.revision = SHA_PREFIX + folder_sha256(folder) if folder else commit

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the boxes of each RGB picture.

        Each goes through the model alone: company would change the last bits of its scores, and padding its boxes.
        """
        return [self._detect(picture) for picture in pictures]

    def _detect(self, picture: Pillow.Image) -> DetectedBoxes:
        inputs = self._processor(images=[picture], return_tensors="pt").to(self._device)
        with torch.inference_mode():
            outputs = self._model(**inputs)
        size = (picture.height, picture.width)
        # A threshold below every score: ranking and the limit choose, not a model's usual threshold.
        (raw,) = self._processor.post_process_object_detection(outputs, threshold=-1.0, target_sizes=[size])
        return self._rank_boxes(raw, picture)

    def _rank_boxes(self, raw: dict[str, Any], picture: Pillow.Image) -> DetectedBoxes:
        scores = raw["scores"].double().cpu().numpy()
        order = np.argsort(-scores, kind="stable")
        scores = scores[order]
        boxes = raw["boxes"].double().cpu().numpy()[order]
        corners = round_to_pixels(boxes, width=picture.width, height=picture.height)
        selected = find_distinct(corners)  # some models give one box once per class
        if self._suppress_over is not None:
            selected = selected[
                suppress(corners[selected], max_overlap=self._suppress_over, limit=self._limit)
            ]
        selected = selected[: self._limit]
        return DetectedBoxes(corners[selected], scores[selected])


def _load_model(source: str, *, from_hub: bool, requested_commit: str) -> tuple[Any, Any, str]:
    """Return the model, its processor, and the hub's commit of both, or nothing; ``wanted`` is one to keep to."""
    from safetensors import SafetensorError  # noqa: PLC0415
    from transformers import AutoImageProcessor, AutoModelForObjectDetection  # noqa: PLC0415 - takes seconds

    try:
        commit = (requested_commit or hub_commit(source)) if from_hub else ""
        # One commit for every file, and never another that holds converted weights.
        revision = commit or "main"
        model = AutoModelForObjectDetection.from_pretrained(
            source, use_safetensors=True, revision=revision
        ).eval()
        processor = AutoImageProcessor.from_pretrained(source, backend="pil", revision=revision)
    except ImportError as error:
        package = (
            "timm" if "timm" in str(error) else "torchvision" if "torchvision" in str(error) else str(error)
        )
        raise DetectorUnavailable(
            f"detector {source!r} needs a package that is not installed here ({package}); "
            "use a model that does without, such as hustvl/yolos-tiny"
        ) from error
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:  # also cut-off or other weights
        if from_hub and requested_commit:
            raise DetectorUnavailable(
                f"detector {source!r}: its commit {requested_commit} cannot be had, with which the run began; let this machine "
                "download it, or start a new run"
            ) from error
        raise DetectorUnavailable(
            f"detector {source!r} cannot be had: name a folder with config.json, preprocessor_config.json and "
            "model.safetensors of an object detection model, or a hub id that this machine can download"
        ) from error
    if not hasattr(processor, "post_process_object_detection"):
        raise DetectorUnavailable(
            f"detector {source!r}: its model proposes no boxes; name an object detection model"
        )
    return model, processor, commit
