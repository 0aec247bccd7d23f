"""ResNets of the ``transformers`` library that encode R2C's objects: from a folder, or from a card's sizes."""

from pathlib import Path
from typing import Any

from curation.features.encoder import EncoderUnavailable
from curation.features.transformer_folders import load_model
from curation.records import InvalidInput

CNN_PREFIX = "cnn:"
STAGES = 4
IMAGE_MEAN, IMAGE_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of ImageNet, on which the published ResNet-50 was trained."""


def load_network(visual: str) -> Any:
    """Return the ``ResNetModel`` of a setting ``cnn:<folder>``, such as the folder of microsoft/resnet-50.

    Raises:
        EncoderUnavailable: the folder is not that of a ResNet with four stages, or is damaged.
    """
    network = load_model(Path(visual.removeprefix(CNN_PREFIX)), "ResNetModel")
    _check_stages(network.config)
    return network


def build_network(config: dict[str, Any]) -> Any:
    """Return a ``ResNetModel`` of a card's sizes with random weights."""
    from transformers import ResNetConfig, ResNetModel  # noqa: PLC0415 - takes seconds

    try:
        settings = ResNetConfig(**config)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"network: {error} does not describe a ResNet; save the chooser again") from error
    _check_stages(settings)
    return ResNetModel(settings)


def _check_stages(config: Any) -> None:
    if getattr(config, "model_type", "") != "resnet" or len(config.depths) != STAGES:
        raise EncoderUnavailable("cnn: is not a ResNet with four stages; give a ResNet-50 of transformers")
