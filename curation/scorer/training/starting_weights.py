"""The starting weights of training: CLIP, another scorer, or a tiny model of random weights."""

import dataclasses
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from curation.features.crops import Crop
from curation.features.weights import SHA_PREFIX
from curation.records import InvalidInput
from curation.scorer.config import TINY, TextMode
from curation.scorer.model.architecture import Architecture, Transformer, VisionTransformer
from curation.scorer.model.card import TokenizerKind, default_card, parse_channels
from curation.scorer.model.folder import LoadedScorer, check_tokenizer, load_scorer
from curation.scorer.model.tokens import ByteTokenizer, convert_tokenizer
from curation.scorer.model.towers import DualEncoder, architecture_from_clip, build_from_clip
from hits.domain.images.region_drawing import RegionMode

CLIP_PREFIX, SCORER_PREFIX = "clip:", "scorer:"
_TINY_LAYERS = Transformer(width=64, layers=2, heads=2, hidden=128)
TINY_ARCHITECTURE = Architecture(
    dim=32,
    side=32,
    context_length=64,
    vocabulary=ByteTokenizer.vocabulary,
    end=ByteTokenizer.end,
    vision=VisionTransformer(patch=8, layers=_TINY_LAYERS),
    text=_TINY_LAYERS,
)


def load_starting_model(
    model: str,
    *,
    region_mode: RegionMode = RegionMode.HIGHLIGHT,
    text_mode: TextMode = TextMode.INFERENCE,
    crop: Crop = Crop.TWO_SQUARES,
    seed: int = 0,
) -> LoadedScorer:
    """Return a model to train from. It can score already: untrained CLIP is Hessel et al.'s zero-shot model.

    Args:
        model: ``tiny``, ``clip:<hub id or folder>`` or ``scorer:<folder>``.
        region_mode, text_mode, crop: for its card, also if a scorer's card has others.
        seed: of the tiny model's weights.

    Raises:
        InvalidInput: an unknown name, or weights that are not available.
    """
    if model == TINY:
        loaded = _build_tiny(seed)
    elif model.startswith(CLIP_PREFIX) and model != CLIP_PREFIX:
        loaded = _load_clip(model.removeprefix(CLIP_PREFIX))
    elif model.startswith(SCORER_PREFIX) and model != SCORER_PREFIX:
        loaded = _load_scorer(Path(model.removeprefix(SCORER_PREFIX)))
    else:
        raise InvalidInput(
            f"model: {model!r} is not known; use tiny, clip:openai/clip-vit-base-patch16, or scorer: and a "
            "scorer's folder"
        )
    card = dataclasses.replace(loaded.card, region_mode=region_mode, text_mode=text_mode, crop=crop)
    return dataclasses.replace(loaded, card=card, sha256="")


def build_random_model(architecture: Architecture, seed: int) -> DualEncoder:
    """Return a model of random weights, equal for equal seeds; the global random state is unchanged."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return DualEncoder(architecture).eval()


def _build_tiny(seed: int) -> LoadedScorer:
    card = default_card(TINY_ARCHITECTURE, TokenizerKind.BYTES, made={"start": TINY, "seed": seed})
    tokenizer = ByteTokenizer(TINY_ARCHITECTURE.context_length)
    return LoadedScorer(build_random_model(TINY_ARCHITECTURE, seed), tokenizer, card)


def _load_clip(source: str) -> LoadedScorer:
    from curation.features.clip import load_clip  # noqa: PLC0415 - loads transformers

    clip = load_clip(source)
    architecture = architecture_from_clip(clip.model.config)
    tokenizer = convert_tokenizer(clip.tokenizer, architecture.context_length)
    check_tokenizer(tokenizer, architecture)
    start, library = f"{CLIP_PREFIX}{clip.label}", version("transformers")
    made = {"start": start, "weights": clip.weights, "transformers": library}
    card = default_card(architecture, TokenizerKind.CLIP, made=made)
    card = dataclasses.replace(card, mean=parse_channels(clip.norm.mean), std=parse_channels(clip.norm.std))
    return LoadedScorer(build_from_clip(clip.model), tokenizer, card)


def _load_scorer(folder: Path) -> LoadedScorer:
    loaded = load_scorer(folder)
    made = {"start": f"{SCORER_PREFIX}{folder.name}", "weights": SHA_PREFIX + loaded.sha256}
    made_before: dict[str, Any] = {"before": dict(loaded.card.made)} if loaded.card.made else {}
    if loaded.card.made.get("rehearsal"):
        made_before["rehearsal"] = True  # a model trained from it also depends on the rehearsal
    return dataclasses.replace(loaded, card=dataclasses.replace(loaded.card, made=made | made_before))
