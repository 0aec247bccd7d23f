"""What a scorer is made with: plain values, so that pages, commands and the training loop share them.

Nothing here imports torch: the web process reads it.
Source of the defaults: paper 001 §5 and B, doi:10.1007/978-3-031-20059-5_32.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from curation.features.encoder import Precision
from curation.features.regions import Crop
from curation.records import InvalidInput
from hits.domain.images.region_drawing import RegionMode

TINY = "tiny"
"""A model of random weights and a few thousand parameters, for smoke runs; it carries no meaning."""


class TextMode(StrEnum):
    """Which text of a pair the scorer is trained on.

    ``MULTITASK`` draws clue or inference with equal chance for each pair and step, and tells them apart by the
    prefixes ``clue: `` and ``inference: ``; the other two use no prefix (paper 001 §5, "Multitask learning").
    """

    INFERENCE = "inference"
    CLUE = "clue"
    MULTITASK = "multitask"


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """One training run. The defaults are those of the paper's ViT-B/16.

    model: what training starts from: ``clip:<hub id or folder>``, ``scorer:<folder>``, or ``tiny``.
    region_mode, text_mode, crop: what the model sees.
    batch_size: pairs per step over all processes, so one less is the number of negatives. chunk_size: pairs that are
    held in memory at once, by gradient caching; 0 is the whole batch (of one process). grayscale: its probability.
    learning_rate, weight_decay: of AdamW. warmup_steps: the rate rises linearly over so many steps.
    epochs: passes over the pairs; max_steps ends earlier, 0 does not. checkpoint_every: steps between validations.
    patience: validations without a better P@1 until training stops; 0 is never.
    reduce_on_plateau: a tenth of the rate after a validation without a lower loss, as the published code does.
    processes: how many work together (torchrun). device: empty chooses. seed: of every random draw.
    """

    model: str
    region_mode: RegionMode = RegionMode.HIGHLIGHT
    text_mode: TextMode = TextMode.INFERENCE
    crop: Crop = Crop.TWO_SQUARES
    batch_size: int = 512
    chunk_size: int = 0
    learning_rate: float = 1e-5
    weight_decay: float = 0.01
    warmup_steps: int = 500
    epochs: int = 5
    max_steps: int = 0
    checkpoint_every: int = 300
    patience: int = 0
    reduce_on_plateau: bool = False
    augment: bool = True
    grayscale: float = 0.1
    precision: Precision = Precision.AUTO
    compile: bool = False
    processes: int = 1
    device: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidInput(
                "model: name what training starts from, such as clip:openai/clip-vit-base-patch16"
            )
        for name in ("batch_size", "epochs", "checkpoint_every", "processes"):
            _at_least(name, getattr(self, name), 1)
        for name in ("chunk_size", "warmup_steps", "max_steps", "patience", "seed"):
            _at_least(name, getattr(self, name), 0)
        if self.batch_size < 2:  # noqa: PLR2004 - a pair alone has no negative
            raise InvalidInput(f"batch_size: {self.batch_size} leaves no negative; use at least 2")
        if self.batch_size % self.processes:
            raise InvalidInput(
                f"batch_size: {self.batch_size} cannot be shared evenly by {self.processes} processes; use a multiple"
            )
        if not 0 < self.learning_rate < 1:
            raise InvalidInput(
                f"learning_rate: {self.learning_rate:g} is not within 0 to 1; the paper uses 1e-5"
            )
        if not 0 <= self.weight_decay < math.inf:
            raise InvalidInput(f"weight_decay: {self.weight_decay:g} is no decay; use 0 or more")
        if not 0 <= self.grayscale <= 1:
            raise InvalidInput(f"grayscale: {self.grayscale:g} is no probability; use 0 to 1")

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values, as ``from_json`` reads them."""
        return {
            name: str(value) if isinstance(value, StrEnum) else value for name, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "TrainingConfig":
        """Return a configuration from plain values; what is absent has its default.

        Raises:
            InvalidInput: an unknown name, or a value that cannot be; the message names it.
        """
        known = {field.name: field for field in fields(cls)}
        unknown = sorted(set(raw) - set(known))
        if unknown:
            raise InvalidInput(f"{unknown[0]}: is no setting of a training run; use {', '.join(known)}")
        if "model" not in raw:
            raise InvalidInput("model: is missing; name what training starts from")
        return cls(**{name: _typed(name, value) for name, value in raw.items()})


_ENUMS: dict[str, type[StrEnum]] = {
    "region_mode": RegionMode,
    "text_mode": TextMode,
    "crop": Crop,
    "precision": Precision,
}
_WORDS = {"model", "device"}
_NUMBERS = {"learning_rate", "weight_decay", "grayscale"}
_SWITCHES = {"augment", "compile", "reduce_on_plateau"}


def _typed(name: str, value: Any) -> Any:
    if name in _ENUMS:
        kind = _ENUMS[name]
        try:
            return kind(value)
        except ValueError as error:
            raise InvalidInput(f"{name}: {value!r} is not known; use {', '.join(kind)}") from error
    wanted: tuple[type, ...] = (int,)
    if name in _WORDS:
        wanted = (str,)
    elif name in _SWITCHES:
        wanted = (bool,)
    elif name in _NUMBERS:
        wanted = (int, float)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        raise InvalidInput(f"{name}: {value!r} is not {_TYPE_WORDS[wanted[-1]]}")
    return value


_TYPE_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidInput(f"{name}: {value} is too few; use at least {least}")
