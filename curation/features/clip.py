"""CLIP through ``transformers``: a hub id, or a folder with saved weights."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.features.crops import Crop
from curation.features.encoder import EncoderUnavailable, Precision, unit_float32
from curation.features.pixels import SCALING, Normalisation
from curation.features.region_image_encoder import BATCH_SIZE, RegionImageEncoder
from curation.features.weights import (
    SHA_PREFIX,
    SHORT_DIGITS,
    folder_sha256,
    hub_commit,
    resolve_model_folder,
)

DTYPES = {Precision.FP32: torch.float32, Precision.BF16: torch.bfloat16}


@dataclass(frozen=True, slots=True)
class LoadedClip:
    """A CLIPModel with its normalisation and tokenizer. weights: a SHA-256 or the hub's commit."""

    model: Any
    norm: Normalisation
    tokenizer: Any
    weights: str
    label: str


class ClipEncoder(RegionImageEncoder):
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
        self._device = choose_device(device)
        self.precision = resolve_precision(precision, self._device)
        self._dtype = DTYPES[self.precision]
        self._model = clip.model.eval().to(self._device, self._dtype)
        self._tokenizer = clip.tokenizer
        self._crop = crop
        self._norm = clip.norm
        # Each call changes the settings of a fast tokenizer, so it is not thread-safe.
        self._tokenizing = threading.Lock()
        self.name = f"CLIP {clip.label}"
        self.revision = f"{clip.weights[: len(SHA_PREFIX) + SHORT_DIGITS]} {self.precision} {crop}"
        self.dim = int(clip.model.config.projection_dim)
        self.preprocessing = describe_preprocessing(self._norm, crop, self.precision, clip.weights)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dim) float32 rows of length 1; texts are cut to the model's maximum length."""
        rows = []
        for start in range(0, len(texts), BATCH_SIZE):
            with self._tokenizing:
                batch = self._tokenizer(
                    list(texts[start : start + BATCH_SIZE]),
                    padding=True,
                    truncation=True,
                    max_length=self._model.config.text_config.max_position_embeddings,
                    return_tensors="pt",
                )
            with torch.inference_mode():
                rows.append(pooled_features(self._model.get_text_features(**batch.to(self._device))))
        return unit_float32(torch.cat(rows).float().cpu().numpy()) if rows else self._empty_rows()

    def encode_pixels(self, pixels: torch.Tensor) -> NDArray[np.float32]:
        """Return (n, dim) unnormalised rows, one per image: the mean of its views."""
        with torch.inference_mode():
            views = pooled_features(self._model.get_image_features(pixel_values=pixels.to(self._device)))
        return self._mean_of_views(views)


def choose_device(name: str) -> torch.device:
    """Return the device with this name; if the name is empty, the GPU, or the CPU without a GPU."""
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def resolve_precision(requested: Precision, device: torch.device) -> Precision:
    """Return bf16 or fp32; ``auto`` becomes bf16 if the device multiplies it in hardware, else fp32."""
    if requested is not Precision.AUTO:
        return requested
    if device.type == "cuda":
        return Precision.BF16 if torch.cuda.is_bf16_supported(including_emulation=False) else Precision.FP32
    return Precision.BF16 if _cpu_multiplies_bf16() else Precision.FP32


def read_normalisation(processor: Any) -> Normalisation:
    """Return the normalisation of a CLIP image processor."""
    return Normalisation(
        side=int(processor.crop_size["height"]),
        mean=tuple(processor.image_mean),
        std=tuple(processor.image_std),
    )


def describe_preprocessing(
    norm: Normalisation, crop: Crop, precision: Precision, weights: str
) -> dict[str, Any]:
    """Return the preprocessing of images, for manifests."""
    return {
        "side": norm.side,
        "mean": list(norm.mean),
        "std": list(norm.std),
        "crop": crop.value,
        "scaling": SCALING,
        "decoding": "Pillow, full size",
        "precision": precision.value,
        "batch": BATCH_SIZE,
        "weights": weights,
    }


def _cpu_multiplies_bf16() -> bool:
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    probes = (getattr(torch.cpu, name, None) for name in names)
    return any(supported is not None and bool(supported()) for supported in probes)


def load_clip(source: str) -> LoadedClip:
    """Load a CLIP model from a hub id or a folder; all files of a hub id come from one commit.

    Raises:
        EncoderUnavailable: a file is missing, damaged, or cannot be downloaded.
    """
    from transformers import AutoTokenizer, CLIPModel  # noqa: PLC0415 - takes seconds to import

    # The plain class name would fall back to this one with a warning, since torchvision is missing.
    from transformers.models.clip import CLIPImageProcessorPil  # noqa: PLC0415

    def load(source: str, revision: str) -> tuple[Any, Any, Any]:
        return (
            CLIPModel.from_pretrained(source, use_safetensors=True, revision=revision),
            CLIPImageProcessorPil.from_pretrained(source, revision=revision),
            AutoTokenizer.from_pretrained(source, revision=revision),
        )

    folder, (model, processor, tokenizer), commit = _load_at_commit(source, load)
    weights = SHA_PREFIX + folder_sha256(folder) if folder else commit
    label = folder.name if folder else source
    return LoadedClip(model, read_normalisation(processor), tokenizer, weights, label)


def load_tokenizer(source: str) -> Any:
    """Load only the tokenizer of a hub id or a folder; the weights may be missing.

    Raises:
        EncoderUnavailable: a file is missing, damaged, or cannot be downloaded.
    """
    from transformers import AutoTokenizer  # noqa: PLC0415 - takes seconds to import

    load = AutoTokenizer.from_pretrained
    return _load_at_commit(source, lambda name, revision: load(name, revision=revision))[1]


def _load_at_commit(source: str, load: Callable[[str, str], Any]) -> tuple[Path | None, Any, str]:
    """Return the folder, if ``source`` is one, the result of ``load(source, revision)``, and the hub's commit."""
    from safetensors import SafetensorError  # noqa: PLC0415
    from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

    disable_progress_bar()
    folder = resolve_model_folder(source, EncoderUnavailable)
    try:
        commit = "" if folder else hub_commit(source)
        # One commit for all files; without it the library may use a commit with converted weights.
        return folder, load(source, commit or "main"), commit
    except (
        OSError,
        ValueError,
        RuntimeError,
        SafetensorError,
    ) as error:  # includes truncated or mismatched weights
        raise EncoderUnavailable(
            f"CLIP weights {source!r} are not available: give a folder with config.json, model.safetensors and "
            "the tokenizer's files, or a hub id that this machine can download; pickled weights are never read"
        ) from error


def pooled_features(output: object) -> torch.Tensor:
    """Return a tower's projected features: transformers 5 wraps them, earlier versions return the tensor itself."""
    features = getattr(output, "pooler_output", output)
    assert isinstance(features, torch.Tensor)
    return features
