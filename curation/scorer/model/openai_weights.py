"""Weights under OpenAI's names, as the published scorers have them: which architecture they are, and as our model.

Nothing but names and shapes is looked at; so every CLIP of OpenAI's is read, ViT and RN alike.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from curation.records import InvalidInput
from curation.scorer.model.architecture import (
    HEAD_WIDTH,
    RESNET_STAGES,
    RESNET_STRIDE,
    Architecture,
    ResNet,
    Transformer,
    VisionTransformer,
)
from curation.scorer.model.towers import DualEncoder, first_few, with_weights, without_weights

WRAPPERS = ("module.", "clip_model.")
"""What the published training code and data parallelism put before each name."""
NOT_WEIGHTS = {"input_resolution", "context_length", "vocab_size"}
_COUNTER = "num_batches_tracked"  # of batch norms; nothing is computed with it
_BLOCKS = "{}transformer.resblocks."
_BLOCK_PARTS = {
    "attn.out_proj": "self_attn.out_proj",
    "ln_1": "layer_norm1",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
    "ln_2": "layer_norm2",
}
_VISION, _TEXT = "vision.vision_model.", "text.text_model."
_PLAIN_VISION = {
    "visual.class_embedding": f"{_VISION}embeddings.class_embedding",
    "visual.conv1.weight": f"{_VISION}embeddings.patch_embedding.weight",
    "visual.positional_embedding": f"{_VISION}embeddings.position_embedding.weight",
    "visual.ln_pre.weight": f"{_VISION}pre_layrnorm.weight",  # so spelt in transformers
    "visual.ln_pre.bias": f"{_VISION}pre_layrnorm.bias",
    "visual.ln_post.weight": f"{_VISION}post_layernorm.weight",
    "visual.ln_post.bias": f"{_VISION}post_layernorm.bias",
    "visual.proj": "vision.visual_projection.weight",
}
_PLAIN_TEXT = {
    "token_embedding.weight": f"{_TEXT}embeddings.token_embedding.weight",
    "positional_embedding": f"{_TEXT}embeddings.position_embedding.weight",
    "ln_final.weight": f"{_TEXT}final_layer_norm.weight",
    "ln_final.bias": f"{_TEXT}final_layer_norm.bias",
    "text_projection": "text.text_projection.weight",
    "logit_scale": "logit_scale",
}
_TURNED = {"visual.proj", "text_projection"}
"""Kept as (width, dim), where a linear layer has (dim, width)."""


def unwrapped(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights under OpenAI's names, without what wrapped the model, and without what is no weight.

    Raises:
        InvalidInput: two names are one without the wrapping.
    """
    found: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        bare = name
        while bare.startswith(WRAPPERS):
            bare = bare.removeprefix(WRAPPERS[0]).removeprefix(WRAPPERS[1])
        if bare in found:
            raise InvalidInput(f"weights: {bare} is there twice, as {name} too; this is no one model's")
        if bare not in NOT_WEIGHTS and not bare.endswith(_COUNTER):
            found[bare] = tensor
    return found


def architecture_of(weights: Mapping[str, Tensor]) -> Architecture:
    """Return the architecture that these names and shapes are of. Heads are 64 channels wide, as in every CLIP.

    Raises:
        InvalidInput: they are no CLIP of OpenAI's; the message names what is missing.
    """
    context_length, width = _shape(weights, "positional_embedding", 2)
    vocabulary = _shape(weights, "token_embedding.weight", 2)[0]
    side, vision = _vision(weights)
    found = Architecture(
        dim=_shape(weights, "text_projection", 2)[1],
        side=side,
        context_length=context_length,
        vocabulary=vocabulary,
        end=vocabulary - 1,
        vision=vision,
        text=_layers(weights, "", width),
    )
    found.check()
    return found


def from_openai(weights: Mapping[str, Tensor]) -> DualEncoder:
    """Return a scorer with these weights, in float32.

    Args:
        weights: as ``unwrapped`` returns them; in any floating point.

    Raises:
        InvalidInput: a tensor is missing, of another shape, or has no place; the message has OpenAI's names.
    """
    shape = architecture_of(weights)
    model = without_weights(shape)
    names = _names(shape, model)
    lost = [name for name in names if name not in weights]
    if lost:
        raise InvalidInput(f"weights: {first_few(lost)} missing; this is no whole CLIP of OpenAI's")
    foreign = [name for name in weights if name not in names]
    if foreign:
        raise InvalidInput(f"weights: {first_few(foreign)} unknown; this is no CLIP of OpenAI's")
    _check_shapes(weights, names, model)
    return with_weights(shape, dict(_renamed(weights, names)))


def _check_shapes(
    weights: Mapping[str, Tensor], names: Mapping[str, tuple[str, ...]], model: DualEncoder
) -> None:
    wanted = model.state_dict()
    for name, new_names in names.items():
        shape = list(wanted[new_names[0]].shape)
        if name in _TURNED:
            shape.reverse()
        if len(new_names) > 1:
            shape[0] *= len(new_names)
        if list(weights[name].shape) != shape:
            raise InvalidInput(
                f"weights: {name} is {list(weights[name].shape)} instead of {shape}; this is no CLIP of OpenAI's"
            )
        if not weights[name].is_floating_point() or not bool(torch.isfinite(weights[name]).all()):
            raise InvalidInput(f"weights: {name} holds what is no finite number; download the file anew")


def _renamed(
    weights: Mapping[str, Tensor], names: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, Tensor]]:
    for name, new_names in names.items():
        tensor = weights[name].float()
        turned = tensor.T if name in _TURNED else tensor
        # Queries, keys and values lie in one tensor there.
        parts = turned.tensor_split(len(new_names)) if len(new_names) > 1 else (turned,)
        for new, part in zip(new_names, parts, strict=True):
            yield new, part.contiguous()


def _names(shape: Architecture, model: DualEncoder) -> dict[str, tuple[str, ...]]:
    """Return every name that OpenAI's weights of this architecture have, with ours."""
    names: dict[str, tuple[str, ...]] = {name: (new,) for name, new in _PLAIN_TEXT.items()}
    names |= _block_names("", f"{_TEXT}encoder.layers.", shape.text.layers)
    if isinstance(shape.vision, VisionTransformer):
        names |= {name: (new,) for name, new in _PLAIN_VISION.items()}
        names |= _block_names("visual.", f"{_VISION}encoder.layers.", shape.vision.layers.layers)
    else:  # ours has their names
        own = [name for name in model.state_dict() if name.startswith("vision.")]
        names |= {f"visual.{name.removeprefix('vision.')}": (name,) for name in own}
    return names


def _block_names(before: str, ours: str, count: int) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for block in range(count):
        theirs, mine = f"{_BLOCKS.format(before)}{block}", f"{ours}{block}"
        for kind in ("weight", "bias"):
            names[f"{theirs}.attn.in_proj_{kind}"] = tuple(
                f"{mine}.self_attn.{part}_proj.{kind}" for part in "qkv"
            )
            for part, new in _BLOCK_PARTS.items():
                names[f"{theirs}.{part}.{kind}"] = (f"{mine}.{new}.{kind}",)
    return names


def _vision(weights: Mapping[str, Tensor]) -> tuple[int, VisionTransformer | ResNet]:
    """Return the side of a picture and the shape of its tower."""
    if "visual.layer1.0.conv1.weight" in weights:
        width = _shape(weights, "visual.layer1.0.conv1.weight", 4)[0]
        places = _shape(weights, "visual.attnpool.positional_embedding", 2)[0] - 1
        blocks = tuple(_count(weights, f"visual.layer{stage + 1}.") for stage in range(RESNET_STAGES))
        if not all(blocks):
            raise InvalidInput("weights: a stage of the ModifiedResNet is missing; this is no whole CLIP")
        return _root(places) * RESNET_STRIDE, ResNet(width=width, blocks=blocks)
    width, _, patch, _ = _shape(weights, "visual.conv1.weight", 4)
    places = _shape(weights, "visual.positional_embedding", 2)[0] - 1
    return _root(places) * patch, VisionTransformer(patch, _layers(weights, "visual.", width))


def _layers(weights: Mapping[str, Tensor], before: str, width: int) -> Transformer:
    place = _BLOCKS.format(before)
    if width < HEAD_WIDTH or width % HEAD_WIDTH:
        raise InvalidInput(f"weights: {place} is {width} wide, no multiple of {HEAD_WIDTH}; this is no CLIP")
    hidden = _shape(weights, f"{place}0.mlp.c_fc.weight", 2)[0]
    return Transformer(width=width, layers=_count(weights, place), heads=width // HEAD_WIDTH, hidden=hidden)


def _count(weights: Mapping[str, Tensor], place: str) -> int:
    """Return how many numbered parts there are at a place."""
    return len({name.removeprefix(place).split(".")[0] for name in weights if name.startswith(place)})


def _root(places: int) -> int:
    side = round(max(places, 0) ** 0.5)
    if not side or side * side != places:
        raise InvalidInput(f"weights: {places} positions are no square; this is no CLIP of OpenAI's")
    return side


def _shape(weights: Mapping[str, Tensor], name: str, rank: int) -> torch.Size:
    if name not in weights:
        raise InvalidInput(f"weights: {name} is missing; this is no CLIP of OpenAI's")
    shape = weights[name].shape
    if len(shape) != rank:
        raise InvalidInput(f"weights: {name} has {len(shape)} axes instead of {rank}; this is no CLIP")
    return shape
