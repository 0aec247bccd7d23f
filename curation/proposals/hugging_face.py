"""Boxes from object detection models of ``transformers``, from the hub or a folder.

A box's score is the confidence of its best class, which is its label. Hessel et al. 2022 §4.2 use a detector too,
Faster R-CNN trained on Visual Genome; box proposals leave its labels aside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image as Pillow

from curation.features.weights import SHA_PREFIX, folder_sha256, hub_commit, resolve_model_folder
from curation.proposals.boxes import find_distinct_boxes, round_to_pixels, suppress_overlaps
from curation.proposals.detector import DEFAULT_LIMIT, DetectedBoxes, DetectorUnavailable


@dataclass(frozen=True, slots=True)
class ModelTask:
    """A kind of model: its class in ``transformers``, the method that reads its outputs, and its name in messages."""

    model_class: str
    read_method: str
    label: str


DETECTION = ModelTask(
    "AutoModelForObjectDetection", "post_process_object_detection", "object detection model"
)


class HuggingFaceDetector:
    """A model for ``AutoModelForObjectDetection``. Weights are read as safetensors, never unpickled.

    revision: the commit of a hub id; empty means the current commit. Folders ignore it. limit: maximum boxes per
    image. suppress_over: maximum IoU of two boxes (non-maximum suppression); None keeps all boxes.
    """

    parallel = True  # thread-safe

    def __init__(
        self,
        source: str,
        *,
        limit: int = DEFAULT_LIMIT,
        suppress_over: float | None = None,
        revision: str = "",
        device: str = "",
    ) -> None:
        folder = resolve_model_folder(source, DetectorUnavailable)
        loaded = load_model(source, DETECTION, from_hub=folder is None, requested_commit=revision)
        self._model, self._processor, commit = loaded
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._model.to(self._device)
        self._limit = limit
        self._suppress_over = suppress_over
        self.name = f"hf:{folder.name if folder else source}"
        self.revision = SHA_PREFIX + folder_sha256(folder) if folder else commit

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the boxes of each RGB image.

        Images are processed one by one: a batch would change the last bits of scores, and its padding the boxes.
        """
        return [self._detect(picture) for picture in pictures]

    def _detect(self, picture: Pillow.Image) -> DetectedBoxes:
        inputs = self._processor(images=[picture], return_tensors="pt").to(self._device)
        with torch.inference_mode():
            outputs = self._model(**inputs)
        size = (picture.height, picture.width)
        # The threshold is below all scores: boxes are selected by rank and limit, not by the model's threshold.
        (raw,) = self._processor.post_process_object_detection(outputs, threshold=-1.0, target_sizes=[size])
        return self._rank_boxes(raw, picture)

    def _rank_boxes(self, raw: dict[str, Any], picture: Pillow.Image) -> DetectedBoxes:
        scores = raw["scores"].double().cpu().numpy()
        order = np.argsort(-scores, kind="stable")
        scores = scores[order]
        boxes = raw["boxes"].double().cpu().numpy()[order]
        corners = round_to_pixels(boxes, width=picture.width, height=picture.height)
        selected = find_distinct_boxes(corners)  # some models repeat a box for each class
        if self._suppress_over is not None:
            kept = suppress_overlaps(corners[selected], max_overlap=self._suppress_over, limit=self._limit)
            selected = selected[kept]
        selected = selected[: self._limit]
        classes = raw["labels"].cpu().numpy()[order][selected]
        labels = tuple(class_name(self._model, number) for number in classes.tolist())
        return DetectedBoxes(corners[selected], scores[selected], labels)


def class_name(model: Any, number: int) -> str:
    """Return the name of one of a model's classes."""
    return str(model.config.id2label.get(number, f"class {number}"))


def load_model(
    source: str, task: ModelTask, *, from_hub: bool, requested_commit: str
) -> tuple[Any, Any, str]:
    """Return the model, its processor, and their commit on the hub (empty for a folder).

    ``requested_commit``: the commit to load; empty means the current one.

    Raises:
        DetectorUnavailable: a package or the weights are missing, or the model has another task.
    """
    import transformers  # noqa: PLC0415 - takes seconds
    from safetensors import SafetensorError  # noqa: PLC0415

    try:
        commit = (requested_commit or hub_commit(source)) if from_hub else ""
        # One commit for all files; without it the library may use a commit with converted weights.
        revision = commit or "main"
        detector = getattr(transformers, task.model_class)
        model = detector.from_pretrained(source, use_safetensors=True, revision=revision).eval()
        processor = transformers.AutoImageProcessor.from_pretrained(source, backend="pil", revision=revision)
    except ImportError as error:
        known = [name for name in ("timm", "torchvision") if name in str(error)]
        package = known[0] if known else str(error)
        raise DetectorUnavailable(
            f"detector {source!r} needs a package that is not installed here ({package}); "
            "use a model that does not need it, such as hustvl/yolos-tiny"
        ) from error
    except (
        OSError,
        ValueError,
        RuntimeError,
        SafetensorError,
    ) as error:  # includes truncated or mismatched weights
        if from_hub and requested_commit:
            raise DetectorUnavailable(
                f"detector {source!r}: the run's commit {requested_commit} is not available; let this machine "
                "download it, or start a new run"
            ) from error
        raise DetectorUnavailable(
            f"detector {source!r} is not available: give a folder with config.json, preprocessor_config.json and "
            f"model.safetensors of an {task.label}, or a hub id that this machine can download"
        ) from error
    if not hasattr(processor, task.read_method):
        raise DetectorUnavailable(f"detector {source!r}: its model finds no objects; give an {task.label}")
    return model, processor, commit
