"""The scorer's model: a picture tower and a text tower that share one space (paper 001 §5 and B).

CLIP's transformers are those of the ``transformers`` library; the ModifiedResNet is ours. The model knows nothing of
how it is trained.
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

START_SCALE = math.log(1 / 0.07)
"""Where CLIP's logit scale begins; training learns it, without a bound, as the published code does."""
NAMED = 3


class DualEncoder(nn.Module):
    """Pictures and texts as vectors of one space.

    dim: of the space. side: of a view, in pixels. context_length: tokens of a text at most.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.architecture = architecture
        self.dim = architecture.dim
        self.side = architecture.side
        self.context_length = architecture.context_length
        self.vision = _vision_tower(architecture)
        self.text = _text_tower(architecture)
        self.logit_scale = nn.Parameter(torch.tensor(START_SCALE))

    def encode_images(self, pixels: Tensor) -> Tensor:
        """Return (n, dim) rows of length 1, at least float32, of (n, views, 3, side, side) normalised pixels.

        A picture is the mean of its views' vectors as the tower gives them, and only that mean is scaled to length
        1: a view that the tower is sure of counts for more (the published code).
        """
        views = self.view_vectors(pixels.flatten(0, 1))
        return F.normalize(_wide(views).unflatten(0, pixels.shape[:2]).mean(dim=1), dim=-1)

    def view_vectors(self, pixels: Tensor) -> Tensor:
        """Return (n, dim) vectors, not of length 1, of (n, 3, side, side) normalised pixels."""
        if isinstance(self.vision, ModifiedResNet):
            vectors: Tensor = self.vision(pixels)
        else:
            vectors = self.vision(pixel_values=pixels).image_embeds
        return vectors

    def encode_texts(self, tokens: Tensor) -> Tensor:
        """Return (n, dim) rows of length 1, at least float32, of (n, at most context_length) int64 tokens.

        A text is read up to its first end token; what stands behind it changes nothing.
        """
        return F.normalize(_wide(self.text(input_ids=tokens).text_embeds), dim=-1)

    def scale(self) -> Tensor:
        """Return what products of rows are multiplied by: a scalar above 0, with its gradient."""
        return self.logit_scale.exp()

    def forward(self, pixels: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows of ``encode_images`` and of ``encode_texts``."""
        return self.encode_images(pixels), self.encode_texts(tokens)


def without_weights(architecture: Architecture) -> DualEncoder:
    """Return a model on the meta device: names and shapes, and no memory."""
    with torch.device("meta"):
        return DualEncoder(architecture)


def with_weights(architecture: Architecture, weights: Mapping[str, Tensor]) -> DualEncoder:
    """Return a model, in evaluation mode, that holds these float32 tensors themselves.

    Raises:
        InvalidInput: a tensor is missing, of another shape, or has no place; the message names the first few.
    """
    model = without_weights(architecture)
    _check_weights(model, weights)
    model.load_state_dict(weights, assign=True)
    for module in model.modules():
        # The one thing that a module makes itself and no file has: positions, counted from 0.
        positions = getattr(module, "position_ids", None)
        if isinstance(positions, Tensor):
            module.register_buffer("position_ids", torch.arange(positions.shape[-1])[None], persistent=False)
    return model.requires_grad_(True).eval()


def _check_weights(model: DualEncoder, weights: Mapping[str, Tensor]) -> None:
    """Raise InvalidInput unless the weights are exactly those of the model."""
    wanted = model.state_dict()
    lost = [name for name in wanted if name not in weights]
    if lost:
        raise InvalidInput(f"weights: {first_few(lost)} missing; this is no whole scorer of this shape")
    foreign = [name for name in weights if name not in wanted]
    if foreign:
        raise InvalidInput(f"weights: {first_few(foreign)} unknown; this is another architecture")
    for name, tensor in wanted.items():
        if weights[name].shape != tensor.shape:
            raise InvalidInput(
                f"weights: {name} is {list(weights[name].shape)} instead of {list(tensor.shape)}; "
                "this is another architecture"
            )


def first_few(names: list[str]) -> str:
    """Return the first names and how many more there are, followed by "is" or "are"."""
    few = ", ".join(names[:NAMED])
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{few}{more} {'is' if len(names) == 1 else 'are'}"


def shape_of_clip(config: Any) -> Architecture:
    """Return the architecture of a ``transformers`` CLIPConfig.

    Raises:
        InvalidInput: it is one that is not built here, such as one with another activation.
    """
    vision, text = config.vision_config, config.text_config
    shape = Architecture(
        dim=int(config.projection_dim),
        side=int(vision.image_size),
        context_length=int(text.max_position_embeddings),
        vocabulary=int(text.vocab_size),
        end=int(text.eos_token_id),
        vision=VisionTransformer(patch=int(vision.patch_size), layers=_layers_of(vision)),
        text=_layers_of(text),
    )
    shape.check()
    return shape


def from_clip(model: Any) -> DualEncoder:
    """Return a scorer with the float32 weights of a ``transformers`` CLIPModel."""
    weights = {_ours(name): tensor.detach().float() for name, tensor in model.state_dict().items()}
    return with_weights(shape_of_clip(model.config), weights)


def _ours(name: str) -> str:
    if name.startswith(("vision_model.", "visual_projection.")):
        return f"vision.{name}"
    return f"text.{name}" if name.startswith("text_") else name


def _layers_of(config: Any) -> Transformer:
    return Transformer(
        width=int(config.hidden_size),
        layers=int(config.num_hidden_layers),
        heads=int(config.num_attention_heads),
        hidden=int(config.intermediate_size),
        activation=str(config.hidden_act),
        epsilon=float(config.layer_norm_eps),
    )


def _settings(layers: Transformer, dim: int) -> dict[str, Any]:
    # Without dropout: with it, encoding a chunk a second time would not give the first time's vectors.
    return {
        "hidden_size": layers.width,
        "num_hidden_layers": layers.layers,
        "num_attention_heads": layers.heads,
        "intermediate_size": layers.hidden,
        "hidden_act": layers.activation,
        "layer_norm_eps": layers.epsilon,
        "projection_dim": dim,
        "attention_dropout": 0.0,
    }


def _vision_tower(architecture: Architecture) -> nn.Module:
    vision = architecture.vision
    if not isinstance(vision, VisionTransformer):
        return ModifiedResNet(vision, side=architecture.side, dim=architecture.dim)
    from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection  # noqa: PLC0415 - takes seconds

    settings = _settings(vision.layers, architecture.dim)
    config = CLIPVisionConfig(image_size=architecture.side, patch_size=vision.patch, **settings)
    return CLIPVisionModelWithProjection(config)


def _text_tower(architecture: Architecture) -> nn.Module:
    from transformers import CLIPTextConfig, CLIPTextModelWithProjection  # noqa: PLC0415 - takes seconds

    return CLIPTextModelWithProjection(
        CLIPTextConfig(
            vocab_size=architecture.vocabulary,
            max_position_embeddings=architecture.context_length,
            eos_token_id=architecture.end,
            bos_token_id=None,  # of other vocabularies than CLIP's the default is none
            **_settings(architecture.text, architecture.dim),
        )
    )


def _wide(vectors: Tensor) -> Tensor:
    """Return the vectors in at least float32: lengths of bfloat16 rows would be off by a part in 200."""
    return vectors.to(torch.promote_types(vectors.dtype, torch.float32))
