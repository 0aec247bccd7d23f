"""CLIP through ``transformers``: a hub id, or a folder with saved weights.

Pictures are seen as in Sherlock: the region is highlighted on the whole picture, the squares at both ends are
encoded, their unnormalised vectors are averaged, and the mean is scaled to length 1 (paper 001 B; the published
training code).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.encoder import EncoderUnavailable, unit_float32
from curation.features.regions import widescreen_squares
from curation.records import Region
from hits.domain.regions import RegionMode, draw_region

BATCH = 16


class ClipEncoder:
    """A CLIP model. ``source`` is a hub id such as ``openai/clip-vit-base-patch32``, or a folder."""

    is_clip = True

    def __init__(self, source: str, *, device: str = "") -> None:
        from safetensors import SafetensorError  # noqa: PLC0415
        from transformers import AutoTokenizer, CLIPModel  # noqa: PLC0415 - takes seconds to import

        # The Pil class itself: the plain name falls back to it with a warning where torchvision is missing.
        from transformers.models.clip import CLIPImageProcessorPil  # noqa: PLC0415

        try:
            self._model = CLIPModel.from_pretrained(source).eval()
            self._processor = CLIPImageProcessorPil.from_pretrained(source)
            self._tokenizer = AutoTokenizer.from_pretrained(source)
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:  # also cut-off or other weights
            raise EncoderUnavailable(
                f"CLIP weights {source!r} cannot be had: name a folder with config.json, model.safetensors and "
                "the tokenizer's files, or a hub id that this machine can download"
            ) from error
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._model.to(self._device)
        self.name = f"CLIP {Path(source).name if Path(source).is_dir() else source}"
        self.revision = str(getattr(self._model.config, "_commit_hash", None) or "local")
        self.dim = int(self._model.config.projection_dim)

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.float32]:
        """Return (n, dim) float32 rows of length 1."""
        return self._encode([picture.convert("RGB") for picture in pictures])

    def encode_regions(
        self, pictures: Sequence[Pillow.Image], regions: Sequence[Sequence[Region]]
    ) -> NDArray[np.float32]:
        """Return (n, dim) rows of pictures with their boxes highlighted."""
        marked = [
            draw_region(picture, boxes, RegionMode.HIGHLIGHT).convert("RGB")
            for picture, boxes in zip(pictures, regions, strict=True)
        ]
        return self._encode(marked)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) float32 rows of length 1; texts longer than the model takes are cut."""
        rows = []
        for start in range(0, len(texts), BATCH):
            batch = self._tokenizer(
                list(texts[start : start + BATCH]), padding=True, truncation=True, return_tensors="pt"
            ).to(self._device)
            with torch.inference_mode():
                rows.append(_pooled(self._model.get_text_features(**batch)))
        return unit_float32(np.concatenate(rows)) if rows else self._none()

    def _encode(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.float32]:
        rows = []
        for start in range(0, len(pictures), BATCH):
            squares = [square for p in pictures[start : start + BATCH] for square in widescreen_squares(p)]
            pixels = self._processor(images=squares, return_tensors="pt")["pixel_values"].to(self._device)
            with torch.inference_mode():
                both = _pooled(self._model.get_image_features(pixel_values=pixels))  # (2b, dim)
            rows.append(both.reshape(-1, 2, self.dim).mean(axis=1))  # (b, dim)
        return unit_float32(np.concatenate(rows)) if rows else self._none()

    def _none(self) -> NDArray[np.float32]:
        return np.zeros((0, self.dim), dtype=np.float32)


def _pooled(output: object) -> NDArray[np.float32]:
    # transformers 5 wraps the features; earlier versions returned the tensor itself.
    features = getattr(output, "pooler_output", output)
    assert isinstance(features, torch.Tensor)
    return np.asarray(features.float().cpu().numpy(), dtype=np.float32)
