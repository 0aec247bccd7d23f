"""Convert weights with OpenAI's names, as the published scorers have them, to our model.

Only names and shapes matter, so every CLIP of OpenAI can be read, ViT and RN alike.
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
from curation.scorer.model.towers import DualEncoder, build_empty_model, build_model, names_with_verb

NAME_PREFIXES = ("module.", "clip_model.")
"""Prefixes that the published training code and data parallelism add to each name."""
NOT_WEIGHTS = {"input_resolution", "context_length", "vocab_size"}
_UNUSED_SUFFIX = "num_batches_tracked"  # of batch norms; unused
_BLOCKS = "{}transformer.resblocks."
_BLOCK_NAMES = {
    "attn.out_proj": "self_attn.out_proj",
    "ln_1": "layer_norm1",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
    "ln_2": "layer_norm2",
}
_VISION, _TEXT = "vision.vision_model.", "text.text_model."
_VISION_NAMES = {
    "visual.class_embedding": f"{_VISION}embeddings.class_embedding",
    "visual.conv1.weight": f"{_VISION}embeddings.patch_embedding.weight",
    "visual.positional_embedding": f"{_VISION}embeddings.position_embedding.weight",
    "visual.ln_pre.weight": f"{_VISION}pre_layrnorm.weight",  # so spelt in transformers
    "visual.ln_pre.bias": f"{_VISION}pre_layrnorm.bias",
    "visual.ln_post.weight": f"{_VISION}post_layernorm.weight",
    "visual.ln_post.bias": f"{_VISION}post_layernorm.bias",
    "visual.proj": "vision.visual_projection.weight",
}
_TEXT_NAMES = {
    "token_embedding.weight": f"{_TEXT}embeddings.token_embedding.weight",
    "positional_embedding": f"{_TEXT}embeddings.position_embedding.weight",
    "ln_final.weight": f"{_TEXT}final_layer_norm.weight",
    "ln_final.bias": f"{_TEXT}final_layer_norm.bias",
    "text_projection": "text.text_projection.weight",
    "logit_scale": "logit_scale",
}
_TRANSPOSED = {"visual.proj", "text_projection"}
"""Stored as (width, dim), where a linear layer has (dim, width)."""


def unwrap_names(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights under OpenAI's names, without wrapper prefixes and without entries that are not weights.

    Raises:
        InvalidInput: two names are equal without the prefixes.
    """
    unwrapped_weights: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        bare = name
        while bare.startswith(NAME_PREFIXES):
            bare = bare.removeprefix(NAME_PREFIXES[0]).removeprefix(NAME_PREFIXES[1])
        if bare in unwrapped_weights:
            raise InvalidInput(
                f"weights: {bare} occurs twice, also as {name}; these are not the weights of one model"
            )
        if bare not in NOT_WEIGHTS and not bare.endswith(_UNUSED_SUFFIX):
            unwrapped_weights[bare] = tensor
    return unwrapped_weights


def infer_architecture(weights: Mapping[str, Tensor]) -> Architecture:
    """Infer the architecture from names and shapes. Heads are 64 channels wide, as in every CLIP.

    Raises:
        InvalidInput: they are not a CLIP of OpenAI; the message names what is missing.
    """
    context_length, width = _get_shape(weights, "positional_embedding", 2)
    vocabulary = _get_shape(weights, "token_embedding.weight", 2)[0]
    side, vision = _infer_vision(weights)
    architecture = Architecture(
        dim=_get_shape(weights, "text_projection", 2)[1],
        side=side,
        context_length=context_length,
        vocabulary=vocabulary,
        end=vocabulary - 1,
        vision=vision,
        text=_infer_transformer(weights, "", width),
    )
    architecture.check()
    return architecture


def build_from_openai(weights: Mapping[str, Tensor]) -> DualEncoder:
    """Return a scorer with these weights, in float32.

    Args:
        weights: as ``unwrap_names`` returns them; in any floating-point type.

    Raises:
        InvalidInput: a tensor is missing, unknown or of another shape; the message uses OpenAI's names.
    """
    architecture = infer_architecture(weights)
    model = build_empty_model(architecture)
    names = _map_names(architecture, model)
    missing = [name for name in names if name not in weights]
    if missing:
        raise InvalidInput(f"weights: {names_with_verb(missing)} missing; this is no complete CLIP of OpenAI")
    unknown = [name for name in weights if name not in names]
    if unknown:
        raise InvalidInput(f"weights: {names_with_verb(unknown)} unknown; this is not a CLIP of OpenAI")
    _check_shapes(weights, names, model)
    return build_model(architecture, dict(_rename_weights(weights, names)))


def _check_shapes(
    weights: Mapping[str, Tensor], names: Mapping[str, tuple[str, ...]], model: DualEncoder
) -> None:
    expected = model.state_dict()
    for name, new_names in names.items():
        shape = list(expected[new_names[0]].shape)
        if name in _TRANSPOSED:
            shape.reverse()
        if len(new_names) > 1:
            shape[0] *= len(new_names)
        if list(weights[name].shape) != shape:
            raise InvalidInput(
                f"weights: {name} is {list(weights[name].shape)} instead of {shape}; this is not a CLIP of OpenAI"
            )
        if not weights[name].is_floating_point() or not bool(torch.isfinite(weights[name]).all()):
            raise InvalidInput(f"weights: {name} holds NaN or infinity; download the file again")


def _rename_weights(
    weights: Mapping[str, Tensor], names: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, Tensor]]:
    for name, new_names in names.items():
        tensor = weights[name].float()
        transposed = tensor.T if name in _TRANSPOSED else tensor
        # OpenAI stores queries, keys and values in one tensor.
        parts = transposed.tensor_split(len(new_names)) if len(new_names) > 1 else (transposed,)
        for target, part in zip(new_names, parts, strict=True):
            yield target, part.contiguous()


def _map_names(architecture: Architecture, model: DualEncoder) -> dict[str, tuple[str, ...]]:
    """Map OpenAI's names of all weights of this architecture to ours."""
    names: dict[str, tuple[str, ...]] = {name: (target,) for name, target in _TEXT_NAMES.items()}
    names |= _map_block_names("", f"{_TEXT}encoder.layers.", architecture.text.layers)
    if isinstance(architecture.vision, VisionTransformer):
        names |= {name: (target,) for name, target in _VISION_NAMES.items()}
        names |= _map_block_names("visual.", f"{_VISION}encoder.layers.", architecture.vision.layers.layers)
    else:  # our ResNet uses OpenAI's names
        targets = [name for name in model.state_dict() if name.startswith("vision.")]
        names |= {f"visual.{name.removeprefix('vision.')}": (name,) for name in targets}
    return names


def _map_block_names(source_prefix: str, target_prefix: str, count: int) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for block in range(count):
        source, target = f"{_BLOCKS.format(source_prefix)}{block}", f"{target_prefix}{block}"
        for kind in ("weight", "bias"):
            parts = (f"{target}.self_attn.{part}_proj.{kind}" for part in "qkv")
            names[f"{source}.attn.in_proj_{kind}"] = tuple(parts)
            for part, target_part in _BLOCK_NAMES.items():
                names[f"{source}.{part}.{kind}"] = (f"{target}.{target_part}.{kind}",)
    return names


def _infer_vision(weights: Mapping[str, Tensor]) -> tuple[int, VisionTransformer | ResNet]:
    """Return the side of an image and the shape of the vision tower."""
    if "visual.layer1.0.conv1.weight" in weights:
        width = _get_shape(weights, "visual.layer1.0.conv1.weight", 4)[0]
        positions = _get_shape(weights, "visual.attnpool.positional_embedding", 2)[0] - 1
        blocks = tuple(_count_blocks(weights, f"visual.layer{stage + 1}.") for stage in range(RESNET_STAGES))
        if not all(blocks):
            raise InvalidInput("weights: a stage of the ModifiedResNet is missing; this is no whole CLIP")
        return _square_side(positions) * RESNET_STRIDE, ResNet(width=width, blocks=blocks)
    width, _, patch, _ = _get_shape(weights, "visual.conv1.weight", 4)
    positions = _get_shape(weights, "visual.positional_embedding", 2)[0] - 1
    transformer = _infer_transformer(weights, "visual.", width)
    return _square_side(positions) * patch, VisionTransformer(patch, transformer)


def _infer_transformer(weights: Mapping[str, Tensor], source_prefix: str, width: int) -> Transformer:
    block_prefix = _BLOCKS.format(source_prefix)
    if width < HEAD_WIDTH or width % HEAD_WIDTH:
        raise InvalidInput(
            f"weights: {block_prefix} is {width} wide, not a multiple of {HEAD_WIDTH}; this is not a CLIP"
        )
    hidden = _get_shape(weights, f"{block_prefix}0.mlp.c_fc.weight", 2)[0]
    layers, heads = _count_blocks(weights, block_prefix), width // HEAD_WIDTH
    return Transformer(width=width, layers=layers, heads=heads, hidden=hidden)


def _count_blocks(weights: Mapping[str, Tensor], prefix: str) -> int:
    """Return the number of blocks under a prefix."""
    return len({name.removeprefix(prefix).split(".")[0] for name in weights if name.startswith(prefix)})


def _square_side(positions: int) -> int:
    side = round(max(positions, 0) ** 0.5)
    if not side or side * side != positions:
        raise InvalidInput(f"weights: {positions} positions do not form a square; this is no CLIP of OpenAI")
    return side


def _get_shape(weights: Mapping[str, Tensor], name: str, rank: int) -> torch.Size:
    if name not in weights:
        raise InvalidInput(f"weights: {name} is missing; this is not a CLIP of OpenAI")
    shape = weights[name].shape
    if len(shape) != rank:
        raise InvalidInput(f"weights: {name} has {len(shape)} axes instead of {rank}; this is not a CLIP")
    return shape
