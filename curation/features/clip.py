"""CLIP through ``transformers``: a hub id, or a folder with saved weights.

Pictures are seen as in Sherlock: the region is drawn on the whole picture, the squares at both ends are encoded,
their unnormalised vectors are averaged, and the mean is scaled to length 1 (paper 001 B; the published code).
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.encoder import EncoderUnavailable, Precision, unit_float32
from curation.features.pixels import SCALING, Normalisation, pixels_of
from curation.features.regions import Crop
from curation.features.weights import SHA, SHORT, folder_of, folder_sha256, hub_commit
from curation.records import Region
from hits.domain.regions import RegionMode, draw_region

BATCH = 16
DTYPES = {Precision.FP32: torch.float32, Precision.BF16: torch.bfloat16}


class ClipEncoder:
    """A CLIP model. ``source`` is a hub id such as ``openai/clip-vit-base-patch32``, or a folder."""

    is_clip = True
    region_modes = frozenset(RegionMode)

    def __init__(
        self,
        source: str,
        *,
        device: str = "",
        precision: Precision = Precision.AUTO,
        crop: Crop = Crop.TWO_SQUARES,
    ) -> None:
        folder = folder_of(source, EncoderUnavailable)
        model, processor, self._tokenizer, commit = _load(source, from_hub=folder is None)
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.precision = resolve_precision(precision, self._device)
        self._dtype = DTYPES[self.precision]
        self._model = model.eval().to(self._device, self._dtype)
        self._crop = crop
        self._norm = normalisation(processor)
        # A fast tokenizer is set anew for each call, and refuses two calls at once.
        self._tokenizing = threading.Lock()
        self.name = f"CLIP {folder.name if folder else source}"
        weights = SHA + folder_sha256(folder) if folder else commit
        self.revision = f"{weights[: len(SHA) + SHORT]} {self.precision} {crop}"
        self.dim = int(model.config.projection_dim)
        self.preprocessing = described(self._norm, crop, self.precision, weights)

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.float32]:
        """Return (n, dim) float32 rows of length 1."""
        return self._encode([(picture, None) for picture in pictures], RegionMode.NONE)

    def encode_regions(
        self,
        pictures: Sequence[Pillow.Image],
        regions: Sequence[Sequence[Region]],
        mode: RegionMode = RegionMode.HIGHLIGHT,
    ) -> NDArray[np.float32]:
        """Return (n, dim) rows of pictures with their boxes drawn."""
        return self._encode(list(zip(pictures, regions, strict=True)), mode)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) float32 rows of length 1; texts longer than the model takes are cut."""
        rows = []
        for start in range(0, len(texts), BATCH):
            with self._tokenizing:
                batch = self._tokenizer(
                    list(texts[start : start + BATCH]),
                    padding=True,
                    truncation=True,
                    max_length=self._model.config.text_config.max_position_embeddings,
                    return_tensors="pt",
                )
            with torch.inference_mode():
                rows.append(_pooled(self._model.get_text_features(**batch.to(self._device))))
        return unit_float32(np.concatenate(rows)) if rows else self._none()

    def pixels(self, pictures: Sequence[Pillow.Image]) -> torch.Tensor:
        """Return what the tower takes of n RGB pictures: (n * views, 3, side, side), in the model's precision."""
        return pixels_of(pictures, self._crop, self._norm, self._dtype)

    def encode_pixels(self, pixels: torch.Tensor) -> NDArray[np.float32]:
        """Return (n, dim) rows, one per picture, the mean of its views, not yet of length 1."""
        with torch.inference_mode():
            views = _pooled(self._model.get_image_features(pixel_values=pixels.to(self._device)))
        return views.reshape(-1, self._crop.views, self.dim).mean(axis=1)

    def _encode(
        self, marked: Sequence[tuple[Pillow.Image, Sequence[Region] | None]], mode: RegionMode
    ) -> NDArray[np.float32]:
        rows = []
        for start in range(0, len(marked), BATCH):
            drawn = [_drawn(picture, boxes, mode) for picture, boxes in marked[start : start + BATCH]]
            rows.append(self.encode_pixels(self.pixels(drawn)))
        return unit_float32(np.concatenate(rows)) if rows else self._none()

    def _none(self) -> NDArray[np.float32]:
        return np.zeros((0, self.dim), dtype=np.float32)


def resolve_precision(wanted: Precision, device: torch.device) -> Precision:
    """Return bf16 or fp32; ``auto`` is bf16 where the device multiplies it in hardware."""
    if wanted is not Precision.AUTO:
        return wanted
    if device.type == "cuda":
        return Precision.BF16 if torch.cuda.is_bf16_supported(including_emulation=False) else Precision.FP32
    return Precision.BF16 if _cpu_multiplies_bf16() else Precision.FP32


def normalisation(processor: Any) -> Normalisation:
    """Return what a CLIP image processor's settings say."""
    return Normalisation(
        side=int(processor.crop_size["height"]),
        mean=tuple(processor.image_mean),
        std=tuple(processor.image_std),
    )


def described(norm: Normalisation, crop: Crop, precision: Precision, weights: str) -> dict[str, Any]:
    """Return what is done to a picture before the tower, for manifests."""
    return {
        "side": norm.side,
        "mean": list(norm.mean),
        "std": list(norm.std),
        "crop": crop.value,
        "scaling": SCALING,
        "decoding": "Pillow, full size",
        "precision": precision.value,
        "batch": BATCH,
        "weights": weights,
    }


def _cpu_multiplies_bf16() -> bool:
    known = (
        getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )
    return any(supported is not None and bool(supported()) for supported in known)


def _load(source: str, *, from_hub: bool) -> tuple[Any, Any, Any, str]:
    """Return the model, its image processor and tokenizer, and the hub's commit of all three, or nothing."""
    from safetensors import SafetensorError  # noqa: PLC0415
    from transformers import AutoTokenizer, CLIPModel  # noqa: PLC0415 - takes seconds to import

    # The Pil class itself: the plain name falls back to it with a warning where torchvision is missing.
    from transformers.models.clip import CLIPImageProcessorPil  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    try:
        commit = hub_commit(source) if from_hub else ""
        # One commit for every file, and never another that holds converted weights.
        revision = commit or "main"
        return (
            CLIPModel.from_pretrained(source, use_safetensors=True, revision=revision),
            CLIPImageProcessorPil.from_pretrained(source, revision=revision),
            AutoTokenizer.from_pretrained(source, revision=revision),
            commit,
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:  # also cut-off or other weights
        raise EncoderUnavailable(
            f"CLIP weights {source!r} cannot be had: name a folder with config.json, model.safetensors and "
            "the tokenizer's files, or a hub id that this machine can download; pickled weights are never read"
        ) from error


def _drawn(picture: Pillow.Image, boxes: Sequence[Region] | None, mode: RegionMode) -> Pillow.Image:
    drawn = picture if boxes is None else draw_region(picture, boxes, mode)
    return drawn if drawn.mode == "RGB" else drawn.convert("RGB")


def _pooled(output: object) -> NDArray[np.float32]:
    # transformers 5 wraps the features; earlier versions returned the tensor itself.
    features = getattr(output, "pooler_output", output)
    assert isinstance(features, torch.Tensor)
    return np.asarray(features.float().cpu().numpy(), dtype=np.float32)
