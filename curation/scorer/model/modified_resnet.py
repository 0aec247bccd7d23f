"""CLIP's ModifiedResNet, for RN50x16 and RN50x64, which ``transformers`` lacks.

Follows the CLIP paper (Radford et al. 2021, §2.4, arXiv:2103.00020): a ResNet-D with a stem of three convolutions,
average pooling before each strided convolution (against aliasing), and one attention layer that pools the last map
with the map's mean as its query. The module names are those of the published weights.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from curation.scorer.model.architecture import HEAD_WIDTH, RESNET_STRIDE, ResNet

EXPANSION = 4


class RunningNorm(nn.Module):
    """Batch normalisation by the running statistics of the pretrained weights, in training too.

    With batch statistics, each image's vector would depend on the other images of its chunk. Gradient caching and
    several processes would then not give the gradient of the whole batch, and inference would differ from training.
    Scale and shift are learned as usual.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, maps: Tensor) -> Tensor:
        """Return (n, channels, height, width) maps, normalised per channel."""
        return F.batch_norm(maps, self.running_mean, self.running_var, self.weight, self.bias, training=False)


class Bottleneck(nn.Module):
    """Three convolutions with a residual shortcut. Average pooling shrinks the map."""

    def __init__(self, channels: int, inner: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.conv1, self.bn1 = _make_convolution(channels, inner, 1), RunningNorm(inner)
        self.conv2, self.bn2 = _make_convolution(inner, inner, 3), RunningNorm(inner)
        self.conv3, self.bn3 = _make_convolution(inner, inner * EXPANSION, 1), RunningNorm(inner * EXPANSION)
        self.downsample: nn.Sequential | None = None
        if stride > 1 or channels != inner * EXPANSION:
            outer = inner * EXPANSION
            self.downsample = nn.Sequential(_make_convolution(channels, outer, 1), RunningNorm(outer))

    def forward(self, maps: Tensor) -> Tensor:
        """Return (n, 4 * inner, height / stride, width / stride) of (n, channels, height, width)."""
        shortcut = maps if self.downsample is None else self.downsample(_average_pool(maps, self.stride))
        hidden = F.relu(self.bn1(self.conv1(maps)))
        hidden = F.relu(self.bn2(self.conv2(hidden)))
        hidden = self.bn3(self.conv3(_average_pool(hidden, self.stride)))
        return F.relu(hidden + shortcut)


class AttentionPool(nn.Module):
    """One vector per map: attention over its positions and their mean, with the mean as query."""

    def __init__(self, positions: int, channels: int, dim: int) -> None:
        super().__init__()
        self.heads = channels // HEAD_WIDTH
        self.positional_embedding = nn.Parameter(torch.randn(positions + 1, channels) / channels**0.5)
        self.q_proj, self.k_proj = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.v_proj, self.c_proj = nn.Linear(channels, channels), nn.Linear(channels, dim)

    def forward(self, maps: Tensor) -> Tensor:
        """Return (n, dim) of (n, channels, height, width)."""
        positions = maps.flatten(2).transpose(1, 2)
        with_mean = torch.cat([positions.mean(dim=1, keepdim=True), positions], dim=1)
        positions = with_mean + self.positional_embedding
        query = self._split_heads(self.q_proj(positions[:, :1]))
        attended = F.scaled_dot_product_attention(
            query, self._split_heads(self.k_proj(positions)), self._split_heads(self.v_proj(positions))
        )
        vectors: Tensor = self.c_proj(attended.flatten(1))  # (n, heads, 1, 64) -> (n, channels)
        return vectors

    def _split_heads(self, rows: Tensor) -> Tensor:
        """Return (n, heads, positions, 64) of (n, positions, channels)."""
        return rows.unflatten(2, (self.heads, HEAD_WIDTH)).transpose(1, 2)


class ModifiedResNet(nn.Module):
    """The vision tower of CLIP's RN models."""

    def __init__(self, shape: ResNet, *, side: int, dim: int) -> None:
        super().__init__()
        width, half = shape.width, shape.width // 2
        self.conv1, self.bn1 = _make_convolution(3, half, 3, stride=2), RunningNorm(half)
        self.conv2, self.bn2 = _make_convolution(half, half, 3), RunningNorm(half)
        self.conv3, self.bn3 = _make_convolution(half, width, 3), RunningNorm(width)
        first, second, third, fourth = shape.blocks
        self.layer1 = _make_stage(width, width, first, stride=1)
        self.layer2 = _make_stage(width * EXPANSION, width * 2, second, stride=2)
        self.layer3 = _make_stage(width * 2 * EXPANSION, width * 4, third, stride=2)
        self.layer4 = _make_stage(width * 4 * EXPANSION, width * 8, fourth, stride=2)
        self.attnpool = AttentionPool((side // RESNET_STRIDE) ** 2, width * RESNET_STRIDE, dim)

    def forward(self, pixels: Tensor) -> Tensor:
        """Return (n, dim) vectors, not of length 1, of (n, 3, side, side) normalised pixels."""
        maps = pixels.to(self.conv1.weight.dtype)
        for convolution, norm in ((self.conv1, self.bn1), (self.conv2, self.bn2), (self.conv3, self.bn3)):
            maps = F.relu(norm(convolution(maps)))
        maps = F.avg_pool2d(maps, 2)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            maps = stage(maps)
        vectors: Tensor = self.attnpool(maps)
        return vectors


def _make_stage(channels: int, inner: int, blocks: int, *, stride: int) -> nn.Sequential:
    """Return the blocks of one stage; the first takes ``channels`` and shrinks the map by ``stride``."""
    later = [Bottleneck(inner * EXPANSION, inner, 1) for _ in range(blocks - 1)]
    return nn.Sequential(Bottleneck(channels, inner, stride), *later)


def _make_convolution(channels: int, outer: int, kernel: int, *, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(channels, outer, kernel, stride=stride, padding=kernel // 2, bias=False)


def _average_pool(maps: Tensor, stride: int) -> Tensor:
    return F.avg_pool2d(maps, stride) if stride > 1 else maps
