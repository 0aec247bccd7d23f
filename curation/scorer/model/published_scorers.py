"""The four scorers published with the Sherlock corpus, and their conversion to our format.

Source: README of https://github.com/allenai/sherlock at revision 6802669. Each is a file of ``torch.save``. Only
tensors and plain values are read from it; other pickled objects are never loaded.
"""

import dataclasses
import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import torch
from torch import Tensor

from curation.files import file_sha256
from curation.records import InvalidInput
from curation.scorer.config import TextMode
from curation.scorer.model.architecture import Architecture, ResNet, Transformer, VisionTransformer
from curation.scorer.model.card import TokenizerKind, default_card
from curation.scorer.model.folder import LoadedScorer, check_tokenizer, save_scorer
from curation.scorer.model.openai_weights import build_from_openai, unwrap_names
from curation.scorer.model.tokens import load_clip_tokenizer

SOURCE = "https://github.com/allenai/sherlock"
STATE_KEY = "model_state_dict"
VOCABULARY, CONTEXT_LENGTH = 49408, 77


@dataclass(frozen=True, slots=True)
class PublishedScorer:
    """One published scorer. step: optimiser steps of its training; batch_size: pairs per step."""

    name: str
    file_name: str
    architecture: Architecture
    step: int
    batch_size: int
    text_mode: TextMode = TextMode.INFERENCE


@dataclass(frozen=True, slots=True)
class ConvertedScorer:
    """The result of a conversion."""

    folder: Path
    name: str
    sha256: str
    checkpoint_sha256: str
    parameters: int
    text_mode: TextMode


def _make_transformer(width: int) -> Transformer:
    return Transformer(width=width, layers=12, heads=width // 64, hidden=4 * width)


def _make_architecture(dim: int, side: int, vision: VisionTransformer | ResNet) -> Architecture:
    return Architecture(
        dim=dim,
        side=side,
        context_length=CONTEXT_LENGTH,
        vocabulary=VOCABULARY,
        end=VOCABULARY - 1,
        vision=vision,
        text=_make_transformer(dim),  # in these models the text tower is as wide as the shared space
    )


VIT_B16 = _make_architecture(512, 224, VisionTransformer(16, _make_transformer(768)))
RN50X16 = _make_architecture(768, 384, ResNet(96, (6, 8, 18, 8)))
RN50X64 = _make_architecture(1024, 448, ResNet(128, (3, 15, 36, 10)))
_FILE_NAME = "model={}~batch={}~warmup={}~lr=1e-05~valloss=0.0000~{}~widescreen_STEP={}.pt"
_SINGLE_TASK, _MULTITASK = "highlightbbox", "randomclueinfhighlightbbox"

PUBLISHED_SCORERS: Mapping[str, PublishedScorer] = {
    scorer.name: scorer
    for scorer in (
        PublishedScorer(
            "vit-b16", _FILE_NAME.format("ViT-B16", 512, 500, _SINGLE_TASK, 1800), VIT_B16, 1800, 512
        ),
        PublishedScorer(
            "rn50x16", _FILE_NAME.format("RN50x16", 200, 500, _SINGLE_TASK, 4500), RN50X16, 4500, 200
        ),
        PublishedScorer(
            "rn50x64", _FILE_NAME.format("RN50x64", 64, 1000, _SINGLE_TASK, 15600), RN50X64, 15600, 64
        ),
        PublishedScorer(
            "rn50x64-multitask",
            _FILE_NAME.format("RN50x64", 64, 1000, _MULTITASK, 25200),
            RN50X64,
            25200,
            64,
            TextMode.MULTITASK,
        ),
    )
}


def convert_published(
    checkpoint: Path,
    tokenizer: str,
    out: Path,
    *,
    name: str = "",
    text_mode: TextMode | None = None,
) -> ConvertedScorer:
    """Convert a published checkpoint, or another with OpenAI's names and shapes, to a scorer's folder.

    Args:
        tokenizer: the hub id or folder of a CLIP, since checkpoints contain no tokenizer.
        out: an absent or empty folder; it is written atomically.
        name: a key of ``PUBLISHED_SCORERS``; by default that of the file's name, if it is a published one.
        text_mode: the texts it was trained on; by default the published scorer's, else inferences.

    Raises:
        InvalidInput: not a checkpoint, another architecture, an unknown tokenizer, or a folder that is not empty.
    """
    known = _match_published(checkpoint, name)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out}: exists already and is not empty; choose another path")
    weights = _read_weights(checkpoint)
    try:
        model = build_from_openai(weights)
    except InvalidInput as error:
        raise InvalidInput(f"{checkpoint.name}: {error}") from error
    if known is not None and model.architecture != known.architecture:
        raise InvalidInput(
            f"{checkpoint.name}: is {_describe_architecture(model.architecture)}, "
            f"{known.name} is {_describe_architecture(known.architecture)}; "
            "give the name of the right one"
        )
    loaded_tokenizer = load_clip_tokenizer(tokenizer, model.context_length)
    check_tokenizer(loaded_tokenizer, model.architecture)
    mode = text_mode or (known.text_mode if known else TextMode.INFERENCE)
    checkpoint_sha256 = file_sha256(checkpoint)
    made = {"start": "checkpoint", "file": checkpoint.name, "sha256": checkpoint_sha256}
    made |= _release_facts(known)
    card = default_card(model.architecture, TokenizerKind.CLIP, made=made)
    loaded = LoadedScorer(model, loaded_tokenizer, dataclasses.replace(card, text_mode=mode))
    return ConvertedScorer(
        folder=out,
        name=known.name if known else "",
        sha256=save_scorer(out, loaded),
        checkpoint_sha256=checkpoint_sha256,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        text_mode=mode,
    )


def _match_published(checkpoint: Path, name: str) -> PublishedScorer | None:
    """Find the published scorer by its name, or by the file name of its release."""
    if name:
        if name not in PUBLISHED_SCORERS:
            raise InvalidInput(f"name: {name!r} is not known; use {', '.join(PUBLISHED_SCORERS)}")
        return PUBLISHED_SCORERS[name]
    released = unquote(checkpoint.name)
    return next((scorer for scorer in PUBLISHED_SCORERS.values() if scorer.file_name == released), None)


def _release_facts(known: PublishedScorer | None) -> dict[str, Any]:
    """Return the release's facts about a checkpoint, for the card."""
    if known is None:
        return {}
    return {"checkpoint": known.name, "step": known.step, "batch_size": known.batch_size, "source": SOURCE}


def _read_weights(checkpoint: Path) -> dict[str, Tensor]:
    """Return a checkpoint's weights under OpenAI's names.

    Raises:
        InvalidInput: it cannot be read without unpickling objects, or has no weights.
    """
    try:
        content = _load_checkpoint(checkpoint)
    except InvalidInput:
        raise
    except OSError as error:
        raise InvalidInput(f"{checkpoint}: cannot be read ({error.strerror})") from error
    except pickle.UnpicklingError as error:
        raise InvalidInput(f"{checkpoint.name}: {_explain_error(error)}") from error
    # A broken pickle may raise anything: IndexError, struct.error, AssertionError, …
    except Exception as error:
        raise InvalidInput(
            f"{checkpoint.name}: is cut off, or not a file of torch.save; download it again"
        ) from error
    state = content.get(STATE_KEY) if isinstance(content, dict) else None
    is_flat = isinstance(content, dict) and all(isinstance(value, Tensor) for value in content.values())
    if state is None and is_flat:
        state = content  # the weights alone, without the training code's other entries
    if not isinstance(state, dict) or not state:
        raise InvalidInput(
            f"{checkpoint.name}: has no {STATE_KEY}; give a checkpoint of the published training code"
        )
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, Tensor) or not _is_fully_stored(value):
            raise InvalidInput(
                f"{checkpoint.name}: holds {name!r}, which is not a tensor of weights; give a checkpoint of the "
                "published training code"
            )
    return unwrap_names(state)


def _is_fully_stored(tensor: Tensor) -> bool:
    """Whether the file stores all of a tensor's numbers: a tensor may claim to be far larger than its storage."""
    if tensor.layout is not torch.strided or tensor.is_meta:
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()


def _load_checkpoint(checkpoint: Path) -> Any:
    """Return the content of a ``torch.save`` file; only tensors and plain values are loaded."""
    is_zip = zipfile.is_zipfile(checkpoint)
    if is_zip and _is_torchscript(checkpoint):
        raise InvalidInput(
            f"{checkpoint.name}: is TorchScript, which is code; give a file of the weights alone. If you trust "
            "this one: torch.save(torch.jit.load(FILE, map_location='cpu').state_dict(), OUT)"
        )
    # Files from before torch 1.6 cannot be memory-mapped and are read as a whole.
    return torch.load(checkpoint, weights_only=True, map_location="cpu", mmap=is_zip)


def _is_torchscript(checkpoint: Path) -> bool:
    with zipfile.ZipFile(checkpoint) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def _explain_error(error: pickle.UnpicklingError) -> str:
    if "GLOBAL" in str(error):
        return "holds code besides numbers, which is never run; get a file of the weights alone"
    return "is not a file of torch.save; download it again"


def _describe_architecture(architecture: Architecture) -> str:
    vision = architecture.vision
    kind = f"a ResNet {vision.width} wide" if isinstance(vision, ResNet) else f"a ViT/{vision.patch}"
    return f"{kind} of {architecture.side} pixels and {architecture.dim} dimensions"
