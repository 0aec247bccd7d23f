"""The sizes of a scorer's two towers as plain numbers, enough to build them without weights. No torch."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from curation.records import InvalidInput

HEAD_WIDTH = 64
"""Channels of one attention head in all published CLIP models."""
RESNET_STRIDE = 32
"""Pixels per position of a ModifiedResNet's last feature map; also its channels per channel of the stem."""
QUICK_GELU = "quick_gelu"
RESNET_STAGES = 4
ACTIVATIONS = (QUICK_GELU, "gelu")
MAX_SIZE, MAX_LAYERS = 1_000_000, 200


@dataclass(frozen=True, slots=True)
class Transformer:
    """A stack of attention layers. hidden: width of the MLP layer; epsilon: of the layer norms."""

    width: int
    layers: int
    heads: int
    hidden: int
    activation: str = QUICK_GELU
    epsilon: float = 1e-5


@dataclass(frozen=True, slots=True)
class VisionTransformer:
    """A vision transformer with patches of ``patch`` by ``patch`` pixels."""

    patch: int
    layers: Transformer


@dataclass(frozen=True, slots=True)
class ResNet:
    """A ModifiedResNet. width: channels of the stem; blocks: number of blocks of each of the four stages."""

    width: int
    blocks: tuple[int, ...]

    @property
    def heads(self) -> int:
        """Heads of the attention layer that pools the last feature map."""
        return self.width * RESNET_STRIDE // HEAD_WIDTH


@dataclass(frozen=True, slots=True)
class Architecture:
    """Both towers of a CLIP.

    dim: of the shared space. side: of an image, in pixels. context_length: maximum tokens of a text.
    vocabulary: number of tokens. end: the token that ends a text; the text's vector is read at its position.
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
        values = asdict(self)
        if isinstance(self.vision, ResNet):
            values["vision"]["blocks"] = list(self.vision.blocks)
        return values

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Architecture":
        """Return an architecture from plain values.

        Raises:
            InvalidInput: a value is missing, unknown or not of its type.
        """
        try:
            sizes = {name: value for name, value in raw.items() if name not in {"vision", "text"}}
            architecture = cls(vision=_parse_vision(raw["vision"]), text=Transformer(**raw["text"]), **sizes)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"architecture: {error} does not describe two towers; save the scorer again"
            ) from error
        architecture.check()
        return architecture

    def check(self) -> None:
        """Raise InvalidInput if two towers of these sizes cannot be built."""
        _check_values(asdict(self), "architecture")
        if self.end >= self.vocabulary:
            raise InvalidInput(f"architecture.end: {self.end} is not one of the {self.vocabulary} tokens")


def _parse_vision(raw: Mapping[str, Any]) -> VisionTransformer | ResNet:
    if "blocks" in raw:
        return ResNet(width=raw["width"], blocks=tuple(raw["blocks"]))
    return VisionTransformer(patch=raw["patch"], layers=Transformer(**raw["layers"]))


def _check_values(values: Mapping[str, Any], path: str) -> None:
    """Raise InvalidInput for an impossible value. Sizes are bounded, so that no card can exhaust the memory."""
    for name, value in values.items():
        field_path = f"{path}.{name}"
        if isinstance(value, dict):
            _check_values(value, field_path)
        elif name == "blocks":
            _check_blocks(field_path, value)
        elif name == "activation":
            if value not in ACTIVATIONS:
                raise InvalidInput(f"{field_path}: {value!r} is not known; use {' or '.join(ACTIVATIONS)}")
        elif name == "epsilon":
            if not isinstance(value, float) or not 0 < value < 1:
                raise InvalidInput(f"{field_path}: {value!r} is not within 0 to 1")
        else:
            _check_size(field_path, value, MAX_LAYERS if name == "layers" else MAX_SIZE)
    _check_widths(values, path)


def _check_blocks(path: str, blocks: Sequence[object]) -> None:
    if len(blocks) != RESNET_STAGES:
        raise InvalidInput(f"{path}: {list(blocks)!r} are not the blocks of four stages")
    for count in blocks:
        _check_size(path, count, MAX_LAYERS)


def _check_widths(values: Mapping[str, Any], path: str) -> None:
    if "heads" in values and values["width"] % values["heads"]:
        raise InvalidInput(f"{path}: is {values['width']} wide, not a multiple of {values['heads']} heads")
    if "blocks" in values and values["width"] % 2:
        raise InvalidInput(f"{path}.width: {values['width']} is odd; the stem starts with half of it")


def _check_size(path: str, value: object, maximum: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{path}: {value!r} is not a whole number above 0")
    if value > maximum:
        raise InvalidInput(f"{path}: {value} is too large; the maximum is {maximum}")
