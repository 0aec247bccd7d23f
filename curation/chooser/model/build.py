"""Build a chooser's model: before its training from the settings, or from a saved card."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from curation.chooser.config import FEATURES_FOLDER, ChooserConfig, ModelKind
from curation.chooser.model.choice_model import ChoiceModel
from curation.chooser.model.clip_choice import rebuild_clip_choice, start_clip_choice
from curation.chooser.model.cross_encoder import rebuild_cross_encoder, start_cross_encoder
from curation.chooser.model.r2c_model import rebuild_r2c, start_r2c
from curation.evaluation.choice_items import Stage
from curation.features.clip import choose_device, resolve_precision
from curation.features.encoder import Precision
from curation.records import InvalidInput
from curation.scorer.model.card import ScorerCard
from curation.scorer.model.card_folder import CardFolder
from curation.scorer.model.folder import LoadedScorer, load_tokenizer
from curation.scorer.model.towers import build_model

FORMAT = "deerstalker-chooser/1"
CARD = "chooser.json"
_FOLDER = CardFolder("chooser", FORMAT, CARD)


@dataclass(frozen=True, slots=True)
class ChooserCard:
    """What a chooser is. model: plain values of its kind (``ChoiceModel.card``). made: its provenance."""

    kind: ModelKind
    stage: Stage
    model: Mapping[str, Any]
    precision: Precision = Precision.AUTO
    made: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values, as ``from_json`` reads them."""
        return {
            "kind": self.kind.value,
            "stage": self.stage.value,
            "model": dict(self.model),
            "precision": self.precision.value,
            "made": dict(self.made),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "ChooserCard":
        """Return a card from plain values.

        Raises:
            InvalidInput: a value is missing or not of its type; the message names it.
        """
        try:
            return cls(
                kind=ModelKind(raw["kind"]),
                stage=Stage(raw["stage"]),
                model=dict(raw["model"]),
                precision=Precision(raw["precision"]),
                made=dict(raw["made"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"{error} is missing or not known; save the chooser again") from error


@dataclass(frozen=True, slots=True)
class LoadedChooser:
    """A chooser in memory. ``sha256`` is that of its card, which lists those of its files."""

    model: ChoiceModel[Any]
    card: ChooserCard
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class InputSources:
    """Where a model finds its inputs.

    images: the image folder, with the published metadata. features: the folder of stored vectors of objects, for
    R2C with ``visual=features``. text: R2C's vectors of words; empty takes those that the card
    names, which may be a folder on another machine.
    """

    images: Path
    features: Path = Path(FEATURES_FOLDER)
    text: str = ""


def start_model(config: ChooserConfig, sources: InputSources, device: torch.device) -> ChoiceModel[Any]:
    """Return a model before its training; its random weights depend on ``config.seed`` alone.

    Raises:
        InvalidInput: a name is not known, or weights are not available.
    """
    precision = resolve_precision(config.precision, device)
    if config.kind is ModelKind.R2C:
        return start_r2c(config, sources.images, sources.features, device)
    if config.kind is ModelKind.CLIP_CHOICE:
        return start_clip_choice(config, sources.images, precision)
    return start_cross_encoder(config, precision)


def save_chooser(folder: Path, model: ChoiceModel[Any], card: ChooserCard) -> str:
    """Write a chooser atomically, and return the SHA-256 of its card; see ``CardFolder.save``.

    Raises:
        InvalidInput: the folder holds something else, or cannot be written.
    """
    return _FOLDER.save(folder, card.as_json(), model.module, model.tokenizer_json)


def load_chooser(folder: Path, sources: InputSources, *, device: str = "") -> LoadedChooser:
    """Read a chooser; its model is in evaluation mode on the device.

    Args:
        device: such as ``cpu``; empty is the GPU, if there is one.

    Raises:
        InvalidInput: not a chooser, another format, a file that is missing, cut off or changed, or frozen weights
            that are not available.
    """
    text, raw = _FOLDER.read_card(folder)
    target = choose_device(device)
    try:
        card = ChooserCard.from_json(raw)
        model = _rebuild(folder, raw, card, sources, target)
    except InvalidInput as error:
        raise InvalidInput(f"{folder}: {error}") from error
    model.module.eval().to(target)
    return LoadedChooser(model, card, hashlib.sha256(text).hexdigest())


def _rebuild(
    folder: Path, raw: Mapping[str, Any], card: ChooserCard, sources: InputSources, device: torch.device
) -> ChoiceModel[Any]:
    weights = _FOLDER.load_weights(folder, raw)
    precision = resolve_precision(card.precision, device)
    if card.kind is ModelKind.CLIP_CHOICE:

        def load(scorer_card: ScorerCard) -> LoadedScorer:
            tokenizer = load_tokenizer(_FOLDER, folder, raw, scorer_card)
            return LoadedScorer(build_model(scorer_card.architecture, weights), tokenizer, scorer_card)

        return rebuild_clip_choice(card.model, sources.images, precision, load)
    if card.kind is ModelKind.R2C:
        model: ChoiceModel[Any] = _rebuild_r2c(card.model, sources, device)
    else:
        has_file = "tokenizer" in raw["files"]
        tokenizer_json = _FOLDER.load_tokenizer_json(folder, raw) if has_file else ""
        model = rebuild_cross_encoder(card.model, tokenizer_json, precision)
    _load_weights(model, weights)
    return model


def _rebuild_r2c(values: Mapping[str, Any], sources: InputSources, device: torch.device) -> ChoiceModel[Any]:
    try:
        return rebuild_r2c(
            values, sources.images, sources.features, sources.text or values["words"]["source"], device
        )
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"model: {error} is missing or not known; save the chooser again") from error


def _load_weights(model: ChoiceModel[Any], weights: Mapping[str, Tensor]) -> None:
    try:
        model.module.load_state_dict(dict(weights))
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        raise InvalidInput(f"weights: {lines[-1][:200]}; this is another architecture") from error


def zero_shot_clip(source: str, sources: InputSources, *, device: str = "") -> LoadedChooser:
    """Return CLIP before any training as a chooser of answers and rationales alike.

    Args:
        source: ``clip:<hub id or folder>``, ``scorer:<folder>`` or ``tiny``.

    Raises:
        InvalidInput: the weights are not available.
    """
    target = choose_device(device)
    config = ChooserConfig(model=f"{ModelKind.CLIP_CHOICE}:{source}")
    model = start_clip_choice(config, sources.images, resolve_precision(Precision.AUTO, target))
    model.module.eval().to(target)
    card = ChooserCard(ModelKind.CLIP_CHOICE, Stage.ANSWER, model.card(), made={"start": source})
    return LoadedChooser(model, card)
