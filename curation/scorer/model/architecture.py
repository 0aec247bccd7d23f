"""What a scorer's two towers look like, as plain numbers: enough to build them, without any weights. No torch."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from curation.records import InvalidInput

HEAD_WIDTH = 64
"""Channels of one attention head in every CLIP that was published."""
RESNET_STRIDE = 32
"""How many pixels one place of a ModifiedResNet's last map stands for, and its channels per channel of the stem."""
QUICK_GELU = "quick_gelu"
RESNET_STAGES = 4
ACTIVATIONS = (QUICK_GELU, "gelu")
MOST, MOST_LAYERS = 1_000_000, 200


@dataclass(frozen=True, slots=True)
class Transformer:
    """A stack of attention layers. hidden: width of the layer between; epsilon: of the layer norms."""

    width: int
    layers: int
    heads: int
    hidden: int
    activation: str = QUICK_GELU
    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True)
class VisionTransformer:
    """A vision transformer over squares of ``patch`` by ``patch`` pixels."""

    patch: int
    layers: Transformer


@dataclass(frozen=True, slots=True)
class ResNet:
    """A ModifiedResNet. width: channels of the stem; blocks: how many each of the four stages has."""

    width: int
    blocks: tuple[int, ...]

    @property
    def heads(self) -> int:
        """Heads of the attention that pools the last map."""
        return self.width * RESNET_STRIDE // HEAD_WIDTH


@dataclass(frozen=True, slots=True)
class Architecture:
    """Both towers of a CLIP.

    dim: of the space they share. side: of a picture, in pixels. context_length: tokens of a text at most.
    vocabulary: how many tokens there are. end: the token that ends a text, where it is read off.
    """

    dim: int
    side: int
    context_length: int
    vocabulary: int
    end: int
    vision: VisionTransformer | ResNet
    text: Transformer

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values, as ``from_json`` reads them."""
        plain = asdict(self)
        if isinstance(self.vision, ResNet):
            plain["vision"]["blocks"] = list(self.vision.blocks)
        return plain

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Architecture":
        """Return an architecture from plain values.

        Raises:
            InvalidInput: a value is missing, unknown or not of its type.
        """
        try:
            rest = {name: value for name, value in raw.items() if name not in {"vision", "text"}}
            found = cls(vision=_vision(raw["vision"]), text=Transformer(**raw["text"]), **rest)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"architecture: {error} does not describe two towers; save the scorer anew"
            ) from error
        found.check()
        return found

    def check(self) -> None:
        """Raise InvalidInput where these are no two towers that can be built."""
        _check(asdict(self), "architecture")
        if self.end >= self.vocabulary:
            raise InvalidInput(f"architecture.end: {self.end} is none of the {self.vocabulary} tokens")


def _vision(raw: Mapping[str, Any]) -> VisionTransformer | ResNet:
    if "blocks" in raw:
        return ResNet(width=raw["width"], blocks=tuple(raw["blocks"]))
    return VisionTransformer(patch=raw["patch"], layers=Transformer(**raw["layers"]))


def _check(values: Mapping[str, Any], place: str) -> None:
    """Raise InvalidInput where a value cannot be. Sizes are bounded, so that no card can make a reader build on."""
    for name, value in values.items():
        here = f"{place}.{name}"
        if isinstance(value, dict):
            _check(value, here)
        elif name == "blocks":
            _check_blocks(here, value)
        elif name == "activation":
            if value not in ACTIVATIONS:
                raise InvalidInput(f"{here}: {value!r} is not known; use {' or '.join(ACTIVATIONS)}")
        elif name == "epsilon":
            if not isinstance(value, float) or not 0 < value < 1:
                raise InvalidInput(f"{here}: {value!r} is not within 0 to 1")
        else:
            _check_size(here, value, MOST_LAYERS if name == "layers" else MOST)
    _check_widths(values, place)


def _check_blocks(place: str, blocks: Sequence[object]) -> None:
    if len(blocks) != RESNET_STAGES:
        raise InvalidInput(f"{place}: {list(blocks)!r} are not the blocks of four stages")
    for count in blocks:
        _check_size(place, count, MOST_LAYERS)


def _check_widths(values: Mapping[str, Any], place: str) -> None:
    if "heads" in values and values["width"] % values["heads"]:
        raise InvalidInput(f"{place}: is {values['width']} wide, no multiple of {values['heads']} heads")
    if "blocks" in values and values["width"] % 2:
        raise InvalidInput(f"{place}.width: {values['width']} is odd; a stem begins with half of it")


def _check_size(place: str, value: object, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{place}: {value!r} is no whole number above 0")
    if value > most:
        raise InvalidInput(f"{place}: {value} is too many; this reads up to {most}")
