"""The scorer's model: an image tower and a text tower with one shared space (Hessel et al. 2022 §5 and appendix B).

CLIP's transformers come from the ``transformers`` library; the ModifiedResNet is ours. The model is independent of
the training code.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from curation.records import InvalidInput
from curation.scorer.model.architecture import Architecture, Transformer, VisionTransformer
from curation.scorer.model.modified_resnet import ModifiedResNet

INITIAL_LOGIT_SCALE = math.log(1 / 0.07)
"""CLIP's initial logit scale; training learns it without a bound, as the published code does."""
MAX_NAMES_LISTED = 3


class DualEncoder(nn.Module):
    """Encodes images and texts as vectors of one space.

    dim: of the space. side: of a view, in pixels. context_length: maximum tokens of a text.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.architecture = architecture
        self.dim = architecture.dim
        self.side = architecture.side
        self.context_length = architecture.context_length
        self.vision = _build_vision_tower(architecture)
        self.text = _build_text_tower(architecture)
        self.logit_scale = nn.Parameter(torch.tensor(INITIAL_LOGIT_SCALE))

    def encode_images(self, pixels: Tensor) -> Tensor:
        """Return (n, dim) rows of length 1, at least float32, of (n, views, 3, side, side) normalised pixels.

        An image's vector is the mean of its views' unnormalised vectors, scaled to length 1: a view with a longer
        vector counts for more (as in the published code).
        """
        views = self.encode_views(pixels.flatten(0, 1))
        return F.normalize(_to_float32(views).unflatten(0, pixels.shape[:2]).mean(dim=1), dim=-1)

    def encode_views(self, pixels: Tensor) -> Tensor:
        """Return (n, dim) vectors, not of length 1, of (n, 3, side, side) normalised pixels."""
        if isinstance(self.vision, ModifiedResNet):
            vectors: Tensor = self.vision(pixels)
        else:
            vectors = self.vision(pixel_values=pixels).image_embeds
        return vectors

    def encode_texts(self, tokens: Tensor) -> Tensor:
        """Return (n, dim) rows of length 1, at least float32, of (n, at most context_length) int64 tokens.

        A text is read up to its first end token; later tokens change nothing.
        """
        return F.normalize(_to_float32(self.text(input_ids=tokens).text_embeds), dim=-1)

    def scale(self) -> Tensor:
        """Return the factor of the logits: a scalar above 0, with its gradient."""
        return self.logit_scale.exp()

    def forward(self, pixels: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows of ``encode_images`` and of ``encode_texts``."""
        return self.encode_images(pixels), self.encode_texts(tokens)


def build_empty_model(architecture: Architecture) -> DualEncoder:
    """Return a model on the meta device: names and shapes without memory."""
    with torch.device("meta"):
        return DualEncoder(architecture)


def build_model(architecture: Architecture, weights: Mapping[str, Tensor]) -> DualEncoder:
    """Return a model in evaluation mode that uses these float32 tensors without a copy.

    Raises:
        InvalidInput: a tensor is missing, unknown or of another shape; the message names the first few.
    """
    model = build_empty_model(architecture)
    _check_weights(model, weights)
    model.load_state_dict(weights, assign=True)
    for module in model.modules():
        # The only buffer that weight files lack: positions, counted from 0.
        positions = getattr(module, "position_ids", None)
        if isinstance(positions, Tensor):
            module.register_buffer("position_ids", torch.arange(positions.shape[-1])[None], persistent=False)
    return model.requires_grad_(True).eval()


def _check_weights(model: DualEncoder, weights: Mapping[str, Tensor]) -> None:
    """Raise InvalidInput unless the weights are exactly those of the model."""
    expected = model.state_dict()
    missing = [name for name in expected if name not in weights]
    if missing:
        raise InvalidInput(
            f"weights: {names_with_verb(missing)} missing; this is not a complete scorer of this architecture"
        )
    unknown = [name for name in weights if name not in expected]
    if unknown:
        raise InvalidInput(f"weights: {names_with_verb(unknown)} unknown; this is another architecture")
    for name, tensor in expected.items():
        if weights[name].shape != tensor.shape:
            raise InvalidInput(
                f"weights: {name} is {list(weights[name].shape)} instead of {list(tensor.shape)}; "
                "this is another architecture"
            )


def names_with_verb(names: list[str]) -> str:
    """Return the first names and how many more there are, followed by "is" or "are"."""
    listed = ", ".join(names[:MAX_NAMES_LISTED])
    more = f" and {len(names) - MAX_NAMES_LISTED} more" if len(names) > MAX_NAMES_LISTED else ""
    return f"{listed}{more} {'is' if len(names) == 1 else 'are'}"


def architecture_from_clip(config: Any) -> Architecture:
    """Return the architecture of a ``transformers`` CLIPConfig.

    Raises:
        InvalidInput: the architecture is not supported, for instance another activation.
    """
    vision, text = config.vision_config, config.text_config
    architecture = Architecture(
        dim=int(config.projection_dim),
        side=int(vision.image_size),
        context_length=int(text.max_position_embeddings),
        vocabulary=int(text.vocab_size),
        end=int(text.eos_token_id),
        vision=VisionTransformer(patch=int(vision.patch_size), layers=_transformer_shape(vision)),
        text=_transformer_shape(text),
    )
    architecture.check()
    return architecture


def build_from_clip(model: Any) -> DualEncoder:
    """Return a scorer with the float32 weights of a ``transformers`` CLIPModel."""
    weights = {_weight_name(name): tensor.detach().float() for name, tensor in model.state_dict().items()}
    return build_model(architecture_from_clip(model.config), weights)


def _weight_name(name: str) -> str:
    if name.startswith(("vision_model.", "visual_projection.")):
        return f"vision.{name}"
    return f"text.{name}" if name.startswith("text_") else name


def _transformer_shape(config: Any) -> Transformer:
    return Transformer(
        width=int(config.hidden_size),
        layers=int(config.num_hidden_layers),
        heads=int(config.num_attention_heads),
        hidden=int(config.intermediate_size),
        activation=str(config.hidden_act),
        epsilon=float(config.layer_norm_eps),
    )


def _clip_config_values(shape: Transformer, dim: int) -> dict[str, Any]:
    # No dropout: gradient caching encodes each chunk twice and needs equal vectors.
    return {
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.hidden,
        "hidden_act": shape.activation,
        "layer_norm_eps": shape.epsilon,
        "projection_dim": dim,
        "attention_dropout": 0.0,
    }


def _build_vision_tower(architecture: Architecture) -> nn.Module:
    vision = architecture.vision
    if not isinstance(vision, VisionTransformer):
        return ModifiedResNet(vision, side=architecture.side, dim=architecture.dim)
    from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection  # noqa: PLC0415 - takes seconds

    settings = _clip_config_values(vision.layers, architecture.dim)
    config = CLIPVisionConfig(image_size=architecture.side, patch_size=vision.patch, **settings)
    return CLIPVisionModelWithProjection(config)


def _build_text_tower(architecture: Architecture) -> nn.Module:
    from transformers import CLIPTextConfig, CLIPTextModelWithProjection  # noqa: PLC0415 - takes seconds

    return CLIPTextModelWithProjection(
        CLIPTextConfig(
            vocab_size=architecture.vocabulary,
            max_position_embeddings=architecture.context_length,
            eos_token_id=architecture.end,
            bos_token_id=None,  # the default is a token of CLIP's vocabulary only
            **_clip_config_values(architecture.text, architecture.dim),
        )
    )


def _to_float32(vectors: Tensor) -> Tensor:
    """Return the vectors in at least float32: in bfloat16 their lengths would be off by 0.5 %."""
    return vectors.to(torch.promote_types(vectors.dtype, torch.float32))
