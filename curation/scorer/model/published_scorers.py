"""The four scorers that were published with the Sherlock corpus, and how one becomes ours.

Source: README of https://github.com/allenai/sherlock at revision 6802669. Each is a file of ``torch.save``; it is
read as numbers alone, never unpickled freely.
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
from curation.scorer.model.card import TokenizerKind, plain_card
from curation.scorer.model.folder import LoadedScorer, check_tokenizer, save_scorer
from curation.scorer.model.openai_weights import from_openai, unwrapped
from curation.scorer.model.tokens import clip_tokenizer

SOURCE = "https://github.com/allenai/sherlock"
STATE = "model_state_dict"
VOCABULARY, CONTEXT_LENGTH = 49408, 77


@dataclass(frozen=True, slots=True)
class Published:
    """One of them. step: optimiser steps it was trained for; batch_size: pairs per step."""

    name: str
    file_name: str
    architecture: Architecture
    step: int
    batch_size: int
    text_mode: TextMode = TextMode.INFERENCE


@dataclass(frozen=True, slots=True)
class Converted:
    """What came of a conversion."""

    folder: Path
    name: str
    sha256: str
    checkpoint_sha256: str
    parameters: int
    text_mode: TextMode


def _layers(width: int) -> Transformer:
    return Transformer(width=width, layers=12, heads=width // 64, hidden=4 * width)


def _shape(dim: int, side: int, vision: VisionTransformer | ResNet) -> Architecture:
    return Architecture(
        dim=dim,
        side=side,
        context_length=CONTEXT_LENGTH,
        vocabulary=VOCABULARY,
        end=VOCABULARY - 1,
        vision=vision,
        text=_layers(dim),  # in these, the text tower is as wide as the space
    )


VIT_B16 = _shape(512, 224, VisionTransformer(16, _layers(768)))
RN50X16 = _shape(768, 384, ResNet(96, (6, 8, 18, 8)))
RN50X64 = _shape(1024, 448, ResNet(128, (3, 15, 36, 10)))
_FILE = "model={}~batch={}~warmup={}~lr=1e-05~valloss=0.0000~{}~widescreen_STEP={}.pt"
_ONE, _BOTH = "highlightbbox", "randomclueinfhighlightbbox"

PUBLISHED: Mapping[str, Published] = {
    one.name: one
    for one in (
        Published("vit-b16", _FILE.format("ViT-B16", 512, 500, _ONE, 1800), VIT_B16, 1800, 512),
        Published("rn50x16", _FILE.format("RN50x16", 200, 500, _ONE, 4500), RN50X16, 4500, 200),
        Published("rn50x64", _FILE.format("RN50x64", 64, 1000, _ONE, 15600), RN50X64, 15600, 64),
        Published(
            "rn50x64-multitask",
            _FILE.format("RN50x64", 64, 1000, _BOTH, 25200),
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
) -> Converted:
    """Turn a published checkpoint, or another of OpenAI's names and shapes, into a scorer's folder.

    Args:
        tokenizer: the hub id or folder of a CLIP, since checkpoints carry none.
        out: a folder that is not there or is empty; it is there as a whole or not at all.
        name: which of ``PUBLISHED`` it is. Without one, the file's own name says so, or nothing is assumed.
        text_mode: how it was trained; otherwise what the published one of that name was, or on inferences.

    Raises:
        InvalidInput: not such a file, not that architecture, no such tokenizer, or no such place.
    """
    known = _known(checkpoint, name)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out}: is there already and is not empty; choose another place")
    weights = _read(checkpoint)
    try:
        model = from_openai(weights)
    except InvalidInput as error:
        raise InvalidInput(f"{checkpoint.name}: {error}") from error
    if known is not None and model.architecture != known.architecture:
        raise InvalidInput(
            f"{checkpoint.name}: is {_words(model.architecture)}, {known.name} is {_words(known.architecture)}; "
            "name the one that it is"
        )
    reader = clip_tokenizer(tokenizer, model.context_length)
    check_tokenizer(reader, model.architecture)
    mode = text_mode or (known.text_mode if known else TextMode.INFERENCE)
    checkpoint_sha256 = file_sha256(checkpoint)
    made = {"start": "checkpoint", "file": checkpoint.name, "sha256": checkpoint_sha256} | _told(known)
    card = plain_card(model.architecture, TokenizerKind.CLIP, made=made)
    loaded = LoadedScorer(model, reader, dataclasses.replace(card, text_mode=mode))
    return Converted(
        folder=out,
        name=known.name if known else "",
        sha256=save_scorer(out, loaded),
        checkpoint_sha256=checkpoint_sha256,
        parameters=sum(one.numel() for one in model.parameters()),
        text_mode=mode,
    )


def _known(checkpoint: Path, name: str) -> Published | None:
    """Return which published scorer is meant: by name, or by the file's own name as it was released."""
    if name:
        if name not in PUBLISHED:
            raise InvalidInput(f"name: {name!r} is not known; use {', '.join(PUBLISHED)}")
        return PUBLISHED[name]
    released = unquote(checkpoint.name)
    return next((one for one in PUBLISHED.values() if one.file_name == released), None)


def _told(known: Published | None) -> dict[str, Any]:
    """Return what the release says of a checkpoint, for the card."""
    if known is None:
        return {}
    return {
        "checkpoint": known.name,
        "step": known.step,
        "batch_size": known.batch_size,
        "source": SOURCE,
    }


def _read(checkpoint: Path) -> dict[str, Tensor]:
    """Return a checkpoint's weights under OpenAI's names.

    Raises:
        InvalidInput: it cannot be read as numbers, or has no weights.
    """
    try:
        found = _numbers(checkpoint)
    except InvalidInput:
        raise
    except OSError as error:
        raise InvalidInput(f"{checkpoint}: cannot be read ({error.strerror})") from error
    except pickle.UnpicklingError as error:
        raise InvalidInput(f"{checkpoint.name}: {_why(error)}") from error
    # A broken pickle may raise anything: IndexError, struct.error, AssertionError, …
    except Exception as error:
        raise InvalidInput(
            f"{checkpoint.name}: is cut off, or no file that torch.save wrote; download it anew"
        ) from error
    state = found.get(STATE) if isinstance(found, dict) else None
    if state is None and isinstance(found, dict) and all(isinstance(one, Tensor) for one in found.values()):
        state = found  # the weights alone, without what the training code keeps beside them
    if not isinstance(state, dict) or not state:
        raise InvalidInput(
            f"{checkpoint.name}: has no {STATE}; name a checkpoint of the published training code"
        )
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, Tensor) or not _is_held(value):
            raise InvalidInput(
                f"{checkpoint.name}: holds {name!r}, which is no tensor of weights; name a checkpoint of the "
                "published training code"
            )
    return unwrapped(state)


def _is_held(tensor: Tensor) -> bool:
    """Whether a tensor's numbers are all in the file: one may claim to be far larger than what it stores."""
    if tensor.layout is not torch.strided or tensor.is_meta:
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()


def _numbers(checkpoint: Path) -> Any:
    """Return what ``torch.save`` wrote; only tensors and plain values are ever made of it."""
    is_zip = zipfile.is_zipfile(checkpoint)
    if is_zip and _is_script(checkpoint):
        raise InvalidInput(
            f"{checkpoint.name}: is TorchScript, which is code; name a file of the weights alone. Where you trust "
            "this one: torch.save(torch.jit.load(FILE, map_location='cpu').state_dict(), OUT)"
        )
    # Files of before torch 1.6 cannot be mapped and are read as a whole.
    return torch.load(checkpoint, weights_only=True, map_location="cpu", mmap=is_zip)


def _is_script(checkpoint: Path) -> bool:
    with zipfile.ZipFile(checkpoint) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def _why(error: pickle.UnpicklingError) -> str:
    if "GLOBAL" in str(error):
        return "holds code besides numbers, which is never run; ask for the weights alone"
    return "is no file that torch.save wrote; download it anew"


def _words(shape: Architecture) -> str:
    vision = shape.vision
    kind = f"a ResNet {vision.width} wide" if isinstance(vision, ResNet) else f"a ViT/{vision.patch}"
    return f"{kind} of {shape.side} pixels and {shape.dim} dimensions"
