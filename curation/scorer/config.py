"""The settings of a training run as plain values, shared by pages, commands and the training loop.

This module does not import torch, since the web process reads it.
Source of the defaults: Hessel et al. 2022 §5 and appendix B, doi:10.1007/978-3-031-20059-5_32.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from curation.features.crops import Crop
from curation.features.encoder import Precision
from curation.records import InvalidInput
from curation.scorer.settings import LoopSettings
from hits.domain.images.region_drawing import RegionMode

TINY = "tiny"
"""A model of random weights with a few thousand parameters, for dry runs; its scores mean nothing."""


class TextMode(StrEnum):
    """The text of a pair that the scorer is trained on.

    ``MULTITASK`` draws clue or inference with equal chance for each pair and step, and marks them with the prefixes
    ``clue: `` and ``inference: ``; the other two use no prefix (Hessel et al. 2022 §5, "Multitask learning").
    """

    INFERENCE = "inference"
    CLUE = "clue"
    MULTITASK = "multitask"


@dataclass(frozen=True, slots=True)
class TrainingConfig(LoopSettings):
    """The settings of one training run. The defaults are those of Hessel et al. 2022 for ViT-B/16.

    model: the starting weights: ``clip:<hub id or folder>``, ``scorer:<folder>``, or ``tiny``.
    region_mode, text_mode, crop: the model's input format.
    batch_size: pairs per step over all processes; each pair has batch_size - 1 negatives.
    chunk_size: pairs in memory at once, by gradient caching; 0 is the whole batch (of one process).
    augment: whether views change at random. grayscale: probability that a view turns grey.
    learning_rate, weight_decay: of AdamW.
    warmup_steps: steps over which the rate rises linearly.
    epochs: passes over the pairs.
    max_steps: limit of steps; 0 is no limit.
    checkpoint_every: steps between validations.
    patience: number of validations without a better P@1 after which training stops; 0 is never.
    reduce_on_plateau: divide the rate by 10 after a validation without a lower loss, as the published code does.
    processes: number of torchrun processes. device: empty is the GPU, if there is one. seed: of all random draws.
    """

    rate_source: ClassVar[str] = "Hessel et al. (2022) use 1e-5"
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
            raise InvalidInput("model: give the starting weights, such as clip:openai/clip-vit-base-patch16")
        self.check_minima(1, "batch_size", "epochs", "checkpoint_every", "processes")
        self.check_minima(0, "chunk_size", "warmup_steps", "max_steps", "patience", "seed")
        if self.batch_size < 2:  # noqa: PLR2004 - a single pair has no negative
            raise InvalidInput(f"batch_size: {self.batch_size} leaves no negative; use at least 2")
        self.check_batch_and_rate()
        if not 0 <= self.weight_decay < math.inf:
            raise InvalidInput(f"weight_decay: {self.weight_decay:g} is not a valid decay; use 0 or more")
        if not 0 <= self.grayscale <= 1:
            raise InvalidInput(f"grayscale: {self.grayscale:g} is not a probability; use 0 to 1")
