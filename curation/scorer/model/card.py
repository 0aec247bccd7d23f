"""A scorer's card: its architecture, and how to use it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from curation.features.crops import Crop
from curation.features.encoder import Precision
from curation.features.pixels import Normalisation
from curation.records import InvalidInput
from curation.scorer.config import TextMode
from curation.scorer.model.architecture import Architecture
from curation.scorer.texts import DEFAULT_PROMPT
from hits.domain.images.region_drawing import RegionMode

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)


class TokenizerKind(StrEnum):
    """The tokenizer of a scorer: UTF-8 bytes, or CLIP's byte-pair encoding."""

    BYTES = "bytes"
    CLIP = "clip"


@dataclass(frozen=True, slots=True)
class ScorerCard:
    """What a scorer is, and how to use it.

    region_mode, text_mode, crop: what it was trained with. mean, std: per channel, on the scale 0 to 1.
    prompt: a template; each text replaces its ``{}``. precision: recommended for inference. made: its provenance.
    """

    architecture: Architecture
    region_mode: RegionMode
    text_mode: TextMode
    crop: Crop
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    tokenizer: TokenizerKind
    prompt: str = DEFAULT_PROMPT
    precision: Precision = Precision.AUTO
    made: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "{}" not in self.prompt:
            raise InvalidInput(
                f"prompt: {self.prompt!r} has no placeholder for the text; write {{}} where it goes"
            )
        if not all(map(math.isfinite, (*self.mean, *self.std))) or min(self.std) <= 0:
            raise InvalidInput(
                "mean, std: are not finite, or a deviation is not above 0; save the scorer again"
            )

    @property
    def side(self) -> int:
        """Side of a view, in pixels."""
        return self.architecture.side

    @property
    def dim(self) -> int:
        """Dimension of the space that images and texts share."""
        return self.architecture.dim

    @property
    def context_length(self) -> int:
        """Maximum tokens of a text."""
        return self.architecture.context_length

    @property
    def norm(self) -> Normalisation:
        """The normalisation of an image's pixel values."""
        return Normalisation(self.side, self.mean, self.std)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values, as ``from_json`` reads them."""
        return {
            "architecture": self.architecture.as_json(),
            "region_mode": self.region_mode.value,
            "text_mode": self.text_mode.value,
            "crop": self.crop.value,
            "mean": list(self.mean),
            "std": list(self.std),
            "tokenizer": self.tokenizer.value,
            "prompt": self.prompt,
            "precision": self.precision.value,
            "made": dict(self.made),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "ScorerCard":
        """Return a card from plain values.

        Raises:
            InvalidInput: a value is missing or not of its type; the message names it.
        """
        try:
            return cls(
                architecture=Architecture.from_json(raw["architecture"]),
                region_mode=RegionMode(raw["region_mode"]),
                text_mode=TextMode(raw["text_mode"]),
                crop=Crop(raw["crop"]),
                mean=parse_channels(raw["mean"]),
                std=parse_channels(raw["std"]),
                tokenizer=TokenizerKind(raw["tokenizer"]),
                prompt=str(raw["prompt"]),
                precision=Precision(raw["precision"]),
                made=dict(raw["made"]),
            )
        except InvalidInput:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"{error} is missing or not known; save the scorer again") from error


def default_card(
    architecture: Architecture, tokenizer: TokenizerKind, *, made: Mapping[str, Any]
) -> ScorerCard:
    """Return a card with the input format of Hessel et al. 2022: highlighted regions, two square crops."""
    return ScorerCard(
        architecture=architecture,
        region_mode=RegionMode.HIGHLIGHT,
        text_mode=TextMode.INFERENCE,
        crop=Crop.TWO_SQUARES,
        mean=CLIP_MEAN,
        std=CLIP_STD,
        tokenizer=tokenizer,
        made=made,
    )


def parse_channels(values: Iterable[Any]) -> tuple[float, float, float]:
    """Return three numbers, one per channel, from any iterable."""
    red, green, blue = (float(value) for value in values)
    return red, green, blue
