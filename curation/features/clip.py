"""CLIP through ``transformers``: a hub id, or a folder with saved weights."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.features.encoder import EncoderUnavailable, Precision, unit_float32
from curation.features.marked import BATCH, MarkedPictures
from curation.features.pixels import SCALING, Normalisation
from curation.features.regions import Crop
from curation.features.weights import SHA, SHORT, folder_of, folder_sha256, hub_commit

DTYPES = {Precision.FP32: torch.float32, Precision.BF16: torch.bfloat16}


@dataclass(frozen=True, slots=True)
class LoadedClip:
    """A CLIPModel, its picture settings, its tokenizer, and which weights they are: a sha256 or the hub's commit."""

    model: Any
    norm: Normalisation
    tokenizer: Any
    weights: str
    label: str


class ClipEncoder(MarkedPictures):
    """A CLIP model. ``source`` is a hub id such as ``openai/clip-vit-base-patch32``, or a folder."""

    is_clip = True

    def __init__(
        self,
        source: str,
        *,
        device: str = "",
        precision: Precision = Precision.AUTO,
        crop: Crop = Crop.TWO_SQUARES,
    ) -> None:
        clip = load_clip(source)
        self._device = chosen_device(device)
        self.precision = resolve_precision(precision, self._device)
        self._dtype = DTYPES[self.precision]
        self._model = clip.model.eval().to(self._device, self._dtype)
        self._tokenizer = clip.tokenizer
        self._crop = crop
        self._norm = clip.norm
        # A fast tokenizer is set anew for each call, and refuses two calls at once.
        self._tokenizing = threading.Lock()
        self.name = f"CLIP {clip.label}"
        self.revision = f"{clip.weights[: len(SHA) + SHORT]} {self.precision} {crop}"
        self.dim = int(clip.model.config.projection_dim)
        self.preprocessing = described(self._norm, crop, self.precision, clip.weights)

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
        return unit_float32(torch.cat(rows).float().cpu().numpy()) if rows else self._none()

    def encode_pixels(self, pixels: torch.Tensor) -> NDArray[np.float32]:
        """Return (n, dim) rows, one per picture, the mean of its views, not yet of length 1."""
        with torch.inference_mode():
            views = _pooled(self._model.get_image_features(pixel_values=pixels.to(self._device)))
        return self._mean_of_views(views)


def chosen_device(wanted: str) -> torch.device:
    """Return the device of that name; an empty one is the GPU where there is one."""
    return torch.device(wanted or ("cuda" if torch.cuda.is_available() else "cpu"))


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


def load_clip(source: str) -> LoadedClip:
    """Return what a hub id or a folder holds; all of it from one commit of the hub.

    Raises:
        EncoderUnavailable: it cannot be had.
    """
    from transformers import AutoTokenizer, CLIPModel  # noqa: PLC0415 - takes seconds to import

    # The Pil class itself: the plain name falls back to it with a warning where torchvision is missing.
    from transformers.models.clip import CLIPImageProcessorPil  # noqa: PLC0415

    def read(place: str, revision: str) -> tuple[Any, Any, Any]:
        return (
            CLIPModel.from_pretrained(place, use_safetensors=True, revision=revision),
            CLIPImageProcessorPil.from_pretrained(place, revision=revision),
            AutoTokenizer.from_pretrained(place, revision=revision),
        )

    folder, (model, processor, tokenizer), commit = _read(source, read)
    weights = SHA + folder_sha256(folder) if folder else commit
    label = folder.name if folder else source
    return LoadedClip(model, normalisation(processor), tokenizer, weights, label)


def load_tokenizer(source: str) -> Any:
    """Return the tokenizer alone of a hub id or a folder, as ``load_clip`` does; its weights need not be there.

    Raises:
        EncoderUnavailable: it cannot be had.
    """
    from transformers import AutoTokenizer  # noqa: PLC0415 - takes seconds to import

    return _read(source, lambda place, revision: AutoTokenizer.from_pretrained(place, revision=revision))[1]


def _read(source: str, read: Callable[[str, str], Any]) -> tuple[Path | None, Any, str]:
    """Return the folder that was meant, if one was, what ``read(source, revision)`` found, and the hub's commit."""
    from safetensors import SafetensorError  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    folder = folder_of(source, EncoderUnavailable)
    try:
        commit = "" if folder else hub_commit(source)
        # One commit for every file, and never another that holds converted weights.
        return folder, read(source, commit or "main"), commit
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:  # also cut-off or other weights
        raise EncoderUnavailable(
            f"CLIP weights {source!r} cannot be had: name a folder with config.json, model.safetensors and "
            "the tokenizer's files, or a hub id that this machine can download; pickled weights are never read"
        ) from error


def _pooled(output: object) -> torch.Tensor:
    # transformers 5 wraps the features; earlier versions returned the tensor itself.
    features = getattr(output, "pooler_output", output)
    assert isinstance(features, torch.Tensor)
    return features
