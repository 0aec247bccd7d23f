"""What training starts from: CLIP, another scorer, or a tiny model of random weights."""

import dataclasses
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from curation.features.regions import Crop
from curation.features.weights import SHA
from curation.records import InvalidInput
from curation.scorer.config import TINY, TextMode
from curation.scorer.model.architecture import Architecture, Transformer, VisionTransformer
from curation.scorer.model.card import TokenizerKind, channels, plain_card
from curation.scorer.model.folder import LoadedScorer, check_tokenizer, load_scorer
from curation.scorer.model.tokens import ByteTokenizer, from_transformers
from curation.scorer.model.towers import DualEncoder, from_clip, shape_of_clip
from hits.domain.images.region_drawing import RegionMode

CLIP_PREFIX, SCORER_PREFIX = "clip:", "scorer:"
_TINY_LAYERS = Transformer(width=64, layers=2, heads=2, hidden=128)
TINY_SHAPE = Architecture(
    dim=32,
    side=32,
    context_length=64,
    vocabulary=ByteTokenizer.vocabulary,
    end=ByteTokenizer.end,
    vision=VisionTransformer(patch=8, layers=_TINY_LAYERS),
    text=_TINY_LAYERS,
)


def starting_point(
    model: str,
    *,
    region_mode: RegionMode = RegionMode.HIGHLIGHT,
    text_mode: TextMode = TextMode.INFERENCE,
    crop: Crop = Crop.TWO_SQUARES,
    seed: int = 0,
) -> LoadedScorer:
    """Return a model to train from, which is a scorer already: CLIP without training is the paper's zero-shot one.

    Args:
        model: ``tiny``, ``clip:<hub id or folder>`` or ``scorer:<folder>``.
        region_mode, text_mode, crop: what its card says, whatever that of a scorer said before.
        seed: of the tiny model's weights.

    Raises:
        InvalidInput: an unknown name, or weights that cannot be had.
    """
    if model == TINY:
        loaded = _tiny(seed)
    elif model.startswith(CLIP_PREFIX) and model != CLIP_PREFIX:
        loaded = _from_clip(model.removeprefix(CLIP_PREFIX))
    elif model.startswith(SCORER_PREFIX) and model != SCORER_PREFIX:
        loaded = _from_scorer(Path(model.removeprefix(SCORER_PREFIX)))
    else:
        raise InvalidInput(
            f"model: {model!r} is not known; use tiny, clip:openai/clip-vit-base-patch16, or scorer: and a "
            "scorer's folder"
        )
    card = dataclasses.replace(loaded.card, region_mode=region_mode, text_mode=text_mode, crop=crop)
    return dataclasses.replace(loaded, card=card, sha256="")


def random_model(architecture: Architecture, seed: int) -> DualEncoder:
    """Return a model of random weights, equal for equal seeds; the caller's random numbers are left alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return DualEncoder(architecture).eval()


def _tiny(seed: int) -> LoadedScorer:
    card = plain_card(TINY_SHAPE, TokenizerKind.BYTES, made={"start": TINY, "seed": seed})
    tokenizer = ByteTokenizer(TINY_SHAPE.context_length)
    return LoadedScorer(random_model(TINY_SHAPE, seed), tokenizer, card)


def _from_clip(source: str) -> LoadedScorer:
    from curation.features.clip import load_clip  # noqa: PLC0415 - loads transformers

    clip = load_clip(source)
    shape = shape_of_clip(clip.model.config)
    tokenizer = from_transformers(clip.tokenizer, shape.context_length)
    check_tokenizer(tokenizer, shape)
    made = {"start": f"{CLIP_PREFIX}{clip.label}", "weights": clip.weights}
    card = plain_card(shape, TokenizerKind.CLIP, made=made | {"transformers": version("transformers")})
    card = dataclasses.replace(card, mean=channels(clip.norm.mean), std=channels(clip.norm.std))
    return LoadedScorer(from_clip(clip.model), tokenizer, card)


def _from_scorer(folder: Path) -> LoadedScorer:
    loaded = load_scorer(folder)
    made = {"start": f"{SCORER_PREFIX}{folder.name}", "weights": SHA + loaded.sha256}
    made_before: dict[str, Any] = {"before": dict(loaded.card.made)} if loaded.card.made else {}
    if loaded.card.made.get("rehearsal"):
        made_before["rehearsal"] = True  # what learned from it rests on the rehearsal too
    return dataclasses.replace(loaded, card=dataclasses.replace(loaded.card, made=made | made_before))
