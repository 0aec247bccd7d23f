"""The visual side of R2C: a vector for each object, from its pixels, its mask and its class.

As published (Zellers et al. 2019 §5 and §E; ``utils/detector.py`` of rowanz/r2c): the stem and the first three stages
of a ResNet-50 are frozen, RoIAlign cuts 7 by 7 positions from their map of stride 16, the last stage, with stride 1,
is fine-tuned, and its mean is the object's vector. A 3 by 3 convolution of the object's 14 by 14 mask is added to
the first 32 channels (the code; the paper does not mention it).

The published code normalises batches by the statistics of the batch itself. Here the statistics of the pretrained
network are used throughout, so that an object's vector depends on its own image alone.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

STRIDE = 16
POSITIONS = 7
SAMPLES = 2
"""Bilinear samples along each side of a position (He et al. 2017, doi:10.1109/ICCV.2017.322)."""
MASK_SIDE = 14
MASK_CHANNELS = 32


def align_regions(features: Tensor, boxes: Tensor, *, stride: int = STRIDE, side: int = POSITIONS) -> Tensor:
    """Return the (m, channels, side, side) features of boxes in one image (RoIAlign).

    Each of the side * side positions is the mean of ``SAMPLES`` squared bilinear samples.

    Args:
        features: (channels, height, width). boxes: (m, 4) left, top, right and bottom edge in pixels.
        stride: pixels per position of the map.
    """
    height, width = features.shape[1:]
    steps = (torch.arange(side * SAMPLES, device=boxes.device, dtype=boxes.dtype) + 0.5) / (side * SAMPLES)
    left, top, right, bottom = (boxes / stride).unbind(1)
    columns = left[:, None] + (right - left)[:, None] * steps  # (m, side * SAMPLES)
    rows = top[:, None] + (bottom - top)[:, None] * steps
    # grid_sample counts from -1, the left edge of the first position, to 1, the right edge of the last one.
    grid = torch.stack(
        torch.broadcast_tensors(2 * columns[:, None] / width - 1, 2 * rows[:, :, None] / height - 1), dim=-1
    )
    flat = grid.flatten(0, 1)[None]  # (1, m * side * SAMPLES, side * SAMPLES, 2)
    sampled = F.grid_sample(features[None], flat, padding_mode="border", align_corners=False)[0]
    regions = sampled.unflatten(1, (len(boxes), side * SAMPLES)).transpose(0, 1)
    return F.avg_pool2d(regions, SAMPLES)


class RegionEncoder(nn.Module):
    """Encodes objects of images by a ResNet of the ``transformers`` library.

    size: of an object's vector, 2048 for ResNet-50.
    """

    def __init__(self, network: Any) -> None:
        """Use a ``ResNetModel`` with four stages of stride 4, 8, 16 and 32."""
        super().__init__()
        stages = network.encoder.stages
        self.backbone = nn.Sequential(network.embedder, *stages[:3]).requires_grad_(False)
        self.final_stage = _with_stride_one(stages[3])
        self.mask_convolution = nn.Conv2d(1, MASK_CHANNELS, 3, stride=MASK_SIDE // POSITIONS, padding=1)
        self.size = int(network.config.hidden_sizes[-1])

    def train(self, mode: bool = True) -> "RegionEncoder":
        """Set the training mode; normalisation always uses the pretrained statistics."""
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eval()
        return self

    def forward(self, images: Tensor, boxes: Tensor, masks: Tensor, counts: list[int]) -> Tensor:
        """Return the (m, size) vectors of all objects of all images, image by image.

        Args:
            images: (n, 3, height, width), normalised. boxes: (m, 4) in pixels of these images.
            masks: (m, 14, 14), 1 inside the object. counts: number of objects of each image, m together.
        """
        with torch.no_grad():
            maps = self.backbone(images)
            regions = torch.cat(
                [align_regions(one, box) for one, box in zip(maps, boxes.split(counts), strict=True)]
            )
        outlines = self.mask_convolution(masks[:, None] - 0.5)
        regions = torch.cat([regions[:, :MASK_CHANNELS] + outlines, regions[:, MASK_CHANNELS:]], dim=1)
        return self.final_stage(regions).mean(dim=(2, 3))


def _with_stride_one(stage: nn.Module) -> nn.Module:
    for module in stage.modules():
        if isinstance(module, nn.Conv2d):
            module.stride = (1, 1)
    return stage


class ObjectHead(nn.Module):
    """Joins an object's vector with the embedding of its class, and predicts the class from the vector alone.

    The prediction keeps the fine-tuned features from drifting (Zellers et al. 2019 §E).
    """

    def __init__(self, visual: int, classes: int, class_size: int, size: int, dropout: float) -> None:
        super().__init__()
        self.class_embedding = nn.Embedding(classes, class_size)
        self.project = nn.Sequential(nn.Dropout(dropout), nn.Linear(visual + class_size, size), nn.ReLU())
        self.predict_class = nn.Linear(visual, classes)

    def forward(self, vectors: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the (m, size) objects and the (m, classes) logits of (m, visual) vectors of (m,) classes."""
        joined = torch.cat([vectors, self.class_embedding(classes)], dim=-1)
        return self.project(joined), self.predict_class(vectors)
