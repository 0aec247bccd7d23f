"""Fabricated weights under OpenAI's names, written down independently of the code that reads them."""

import math
from pathlib import Path

import torch
from torch import Tensor

State = dict[str, Tensor]


def clip_as_openai(model: torch.nn.Module, prefix: str = "") -> State:
    """Return a ``transformers`` CLIPModel's weights as OpenAI's ViT classes name and lay them out."""
    of = model.state_dict()
    found = {"logit_scale": of["logit_scale"]}
    vision, text = "vision_model.", "text_model."
    found["visual.class_embedding"] = of[f"{vision}embeddings.class_embedding"]
    found["visual.positional_embedding"] = of[f"{vision}embeddings.position_embedding.weight"]
    found["visual.conv1.weight"] = of[f"{vision}embeddings.patch_embedding.weight"]
    found["visual.proj"] = of["visual_projection.weight"].T
    found["text_projection"] = of["text_projection.weight"].T
    found["token_embedding.weight"] = of[f"{text}embeddings.token_embedding.weight"]
    found["positional_embedding"] = of[f"{text}embeddings.position_embedding.weight"]
    for kind in ("weight", "bias"):
        found[f"visual.ln_pre.{kind}"] = of[f"{vision}pre_layrnorm.{kind}"]
        found[f"visual.ln_post.{kind}"] = of[f"{vision}post_layernorm.{kind}"]
        found[f"ln_final.{kind}"] = of[f"{text}final_layer_norm.{kind}"]
        for theirs, ours in (("visual.transformer", vision), ("transformer", text)):
            block = 0
            while f"{ours}encoder.layers.{block}.layer_norm1.weight" in of:
                here, there = f"{ours}encoder.layers.{block}", f"{theirs}.resblocks.{block}"
                found[f"{there}.attn.in_proj_{kind}"] = torch.cat(
                    [of[f"{here}.self_attn.{part}_proj.{kind}"] for part in ("q", "k", "v")]
                )
                found[f"{there}.attn.out_proj.{kind}"] = of[f"{here}.self_attn.out_proj.{kind}"]
                found[f"{there}.ln_1.{kind}"] = of[f"{here}.layer_norm1.{kind}"]
                found[f"{there}.ln_2.{kind}"] = of[f"{here}.layer_norm2.{kind}"]
                found[f"{there}.mlp.c_fc.{kind}"] = of[f"{here}.mlp.fc1.{kind}"]
                found[f"{there}.mlp.c_proj.{kind}"] = of[f"{here}.mlp.fc2.{kind}"]
                block += 1
    return {prefix + name: tensor.clone() for name, tensor in found.items()}


def openai_shapes(
    *,
    dim: int,
    text_width: int,
    text_layers: int,
    vocabulary: int,
    context: int,
    resnet: tuple[int, tuple[int, ...], int],
) -> dict[str, tuple[int, ...]]:
    """Return every name and shape of one of OpenAI's RN models. ``resnet``: width, blocks, side in pixels."""
    shapes: dict[str, tuple[int, ...]] = {
        "logit_scale": (),
        "text_projection": (text_width, dim),
        "positional_embedding": (context, text_width),
        "token_embedding.weight": (vocabulary, text_width),
        "ln_final.weight": (text_width,),
        "ln_final.bias": (text_width,),
    }
    for n in range(text_layers):
        block = f"transformer.resblocks.{n}"
        shapes |= {
            f"{block}.attn.in_proj_weight": (3 * text_width, text_width),
            f"{block}.attn.in_proj_bias": (3 * text_width,),
            f"{block}.attn.out_proj.weight": (text_width, text_width),
            f"{block}.attn.out_proj.bias": (text_width,),
            f"{block}.mlp.c_fc.weight": (4 * text_width, text_width),
            f"{block}.mlp.c_fc.bias": (4 * text_width,),
            f"{block}.mlp.c_proj.weight": (text_width, 4 * text_width),
            f"{block}.mlp.c_proj.bias": (text_width,),
        }
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"{block}.{norm}.weight": (text_width,), f"{block}.{norm}.bias": (text_width,)}
    return shapes | _resnet_shapes(dim, *resnet)


def _resnet_shapes(dim: int, width: int, blocks: tuple[int, ...], side: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}

    def convolution(name: str, norm: str, outer: int, inner: int, kernel: int) -> None:
        shapes[f"{name}.weight"] = (outer, inner, kernel, kernel)
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{norm}.{part}"] = (outer,)
        shapes[f"{norm}.num_batches_tracked"] = ()

    half = width // 2
    for n, (outer, inner) in enumerate(((half, 3), (half, half), (width, half)), start=1):
        convolution(f"visual.conv{n}", f"visual.bn{n}", outer, inner, 3)
    inner = width
    for stage, count in enumerate(blocks, start=1):
        planes = width * 2 ** (stage - 1)
        for n in range(count):
            place = f"visual.layer{stage}.{n}"
            convolution(f"{place}.conv1", f"{place}.bn1", planes, inner, 1)
            convolution(f"{place}.conv2", f"{place}.bn2", planes, planes, 3)
            convolution(f"{place}.conv3", f"{place}.bn3", 4 * planes, planes, 1)
            if n == 0:
                convolution(f"{place}.downsample.0", f"{place}.downsample.1", 4 * planes, inner, 1)
            inner = 4 * planes
    channels = 32 * width
    shapes["visual.attnpool.positional_embedding"] = ((side // 32) ** 2 + 1, channels)
    for part in ("q", "k", "v", "c"):
        outer = dim if part == "c" else channels
        shapes[f"visual.attnpool.{part}_proj.weight"] = (outer, channels)
        shapes[f"visual.attnpool.{part}_proj.bias"] = (outer,)
    return shapes


def random_weights(shapes: dict[str, tuple[int, ...]], seed: int = 0) -> State:
    """Return tensors of these shapes of which a forward pass neither vanishes nor explodes."""
    generator = torch.Generator().manual_seed(seed)
    found: State = {}
    for name, shape in shapes.items():
        if name.endswith("num_batches_tracked"):
            found[name] = torch.tensor(7)
        elif name.endswith("running_var") or (len(shape) == 1 and name.endswith("weight")):
            found[name] = 0.5 + torch.rand(shape, generator=generator)
        else:
            spread = 1 / math.sqrt(math.prod(shape[1:])) if len(shape) > 1 else 0.1
            found[name] = torch.randn(shape, generator=generator) * spread
    return found


TINY_RESNET = openai_shapes(
    dim=16,
    text_width=64,
    text_layers=1,
    vocabulary=54,
    context=20,
    resnet=(8, (2, 1, 1, 2), 64),
)
"""As RN50x16, but small; its words are those of ``save_tiny_clip``'s tokenizer."""


def save_checkpoint(path: Path, weights: State, prefix: str = "module.clip_model.") -> Path:
    """Save weights as the published training code does."""
    torch.save({"model_state_dict": {prefix + name: tensor for name, tensor in weights.items()}}, path)
    return path
