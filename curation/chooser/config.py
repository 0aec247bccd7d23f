"""The settings of a chooser's training run as plain values, for commands, pages and the training loop. No torch.

Source of R2C's defaults: Zellers et al. 2019 §E, doi:10.1109/CVPR.2019.00688, and ``models/multiatt/default.json`` of
rowanz/r2c.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from curation.evaluation.choice_items import Stage
from curation.features.crops import Crop
from curation.features.encoder import Precision
from curation.records import InvalidInput
from curation.scorer.settings import LoopSettings

FEATURES_FOLDER = "features"
"""The folder of a run with stored vectors of objects."""
STORED_VECTORS = "features"
"""The value of ``visual`` for stored vectors."""


class ModelKind(StrEnum):
    """What a chooser is: R2C, CLIP that sees objects in coloured boxes, or a cross-encoder of texts alone."""

    R2C = "r2c"
    CLIP_CHOICE = "clip-choice"
    TEXT_ONLY = "text-only"
    RESPONSE_ONLY = "response-only"


class StageSelection(StrEnum):
    """The stages to train: each has a model of its own."""

    ANSWER = "answer"
    RATIONALE = "rationale"
    BOTH = "both"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages in order."""
        return tuple(Stage) if self is StageSelection.BOTH else (Stage(self.value),)


@dataclass(frozen=True, slots=True)
class ChooserConfig(LoopSettings):
    """The settings of one training run.

    model: ``r2c``, or ``clip-choice:``, ``text-only:`` or ``response-only:`` and the starting weights.
    stage: which models to train.

    Of R2C. text: the frozen vectors of words: ``tiny``, ``gt-minilm`` or ``hf:<folder>``. visual: the vectors of
    objects: ``grid``, ``features`` (in the run's folder), ``encoder:<name>`` or ``cnn:<folder>`` (RoIAlign, trained).
    class_size, object_size, hidden_size, pool_size: of ``R2cSizes``. dropout: of LSTM inputs and last layers;
    object_dropout: of objects. class_loss: the weight of the loss of predicted classes. use_query, use_reasoning,
    use_vision: False in the ablations of Zellers et al. 2019, table 2.

    Of clip-choice. crop: how the image becomes square.

    batch_size: questions per step over all processes. chunk_size: questions in memory at once; 0 is all of a process.
    learning_rate, weight_decay: of Adam. clip_norm: largest norm of the gradient; 0 is any.
    epochs: passes over the questions. max_steps: limit of steps; 0 is no limit.
    checkpoint_every: steps between validations; 0 is one epoch.
    patience: validations without a better accuracy after which training stops; 0 is never.
    plateau_patience: after more validations than this without a better accuracy, the rate is halved; then
    plateau_cooldown validations are not counted.
    processes: number of torchrun processes. device: empty is the GPU, if there is one. seed: of all random draws.
    """

    rate_source: ClassVar[str] = "R2C uses 2e-4"
    model: str
    stage: StageSelection = StageSelection.BOTH
    text: str = "gt-minilm"
    visual: str = "encoder:efficientnet-lite0"
    class_size: int = 128
    object_size: int = 512
    hidden_size: int = 256
    pool_size: int = 1024
    dropout: float = 0.3
    object_dropout: float = 0.1
    class_loss: float = 1.0
    use_query: bool = True
    use_reasoning: bool = True
    use_vision: bool = True
    crop: Crop = Crop.TWO_SQUARES
    batch_size: int = 96
    chunk_size: int = 0
    learning_rate: float = 2e-4
    weight_decay: float = 1e-4
    clip_norm: float = 1.0
    epochs: int = 20
    max_steps: int = 0
    checkpoint_every: int = 0
    patience: int = 3
    plateau_patience: int = 1
    plateau_cooldown: int = 2
    precision: Precision = Precision.AUTO
    processes: int = 1
    device: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        parse_model(self.model)
        self.check_minima(1, "class_size", "object_size", "hidden_size", "pool_size")
        self.check_minima(1, "batch_size", "epochs", "processes")
        self.check_minima(0, "chunk_size", "max_steps", "checkpoint_every", "patience", "plateau_patience")
        self.check_minima(0, "plateau_cooldown", "seed")
        self.check_batch_and_rate()
        for name in ("dropout", "object_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise InvalidInput(
                    f"{name}: {getattr(self, name):g} is not a share below 1; use for instance 0.3"
                )
        for name in ("weight_decay", "class_loss", "clip_norm"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InvalidInput(f"{name}: {getattr(self, name):g} is not valid; use 0 or more")

    @property
    def kind(self) -> ModelKind:
        """What the chooser is."""
        return parse_model(self.model)[0]

    @property
    def start(self) -> str:
        """The starting weights; empty for R2C."""
        return parse_model(self.model)[1]


def parse_model(model: str) -> tuple[ModelKind, str]:
    """Return the kind and the starting weights of a model's name, such as ``text-only:tiny``.

    Raises:
        InvalidInput: the kind is not known, or R2C has starting weights, or another kind has none.
    """
    name, colon, start = model.partition(":")
    if name not in set(ModelKind):
        raise InvalidInput(
            f"model: {model!r} is not known; use r2c, or clip-choice:, text-only: or response-only: and the "
            "starting weights"
        )
    kind = ModelKind(name)
    if kind is ModelKind.R2C and colon:
        raise InvalidInput("model: r2c has no starting weights; set text and visual")
    if kind is not ModelKind.R2C and not start:
        example = "clip:openai/clip-vit-base-patch16" if kind is ModelKind.CLIP_CHOICE else "hf: and a folder"
        raise InvalidInput(f"model: {name} needs starting weights; add tiny, or {example}, after a colon")
    return kind, start
