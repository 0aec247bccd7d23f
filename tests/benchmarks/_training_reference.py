"""The structure of the published training loop, written anew: what ours is measured against.

For each pair and each epoch anew, one by one, in the workers of a DataLoader: open the picture, draw the region, cut
two squares, and scale, flip, jitter and normalise each by Pillow; tokenise the text to its full length. Then one
forward pass of the whole batch in fp32, each half by itself, and plain InfoNCE. Nothing is kept from epoch to epoch.

It differs in what makes it faster: pictures lose their fourth channel right after drawing, not at the end.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image as Pillow
from PIL import ImageEnhance

from curation.features.pixels import Normalisation
from curation.scorer.model.tokens import Tokenizer
from curation.scorer.model.towers import DualEncoder
from curation.scorer.training.inputs import Pair
from hits.domain.images.region_drawing import RegionMode, draw_region
from tests.support.pictures import end_squares

FLIP, BRIGHTNESS, HUE = 0.5, 0.5, 0.3
EPOCH = 363_000  # pairs of the published corpus: a few pairs repeated, so that workers rarely wait for a new epoch


class PublishedDataset(torch.utils.data.Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Pairs as (2, 3, side, side) float32 pixels and a row of tokens."""

    def __init__(
        self, pairs: Sequence[Pair], images: Path, norm: Normalisation, tokenizer: Tokenizer
    ) -> None:
        self._pairs, self._images, self._norm, self._tokenizer = pairs, images, norm, tokenizer

    def __len__(self) -> int:
        """How many pairs."""
        return len(self._pairs)

    def __getitem__(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Make one pair from its file."""
        pair = self._pairs[number]
        with Pillow.open(self._images / pair.image) as picture:
            drawn = draw_region(picture, pair.boxes, RegionMode.HIGHLIGHT).convert("RGB")
        halves = torch.stack([self._half(square) for square in end_squares(drawn)])
        return halves, self._tokenizer([pair.inference])[0]

    def _half(self, square: Pillow.Image) -> torch.Tensor:
        side = self._norm.side
        scaled = square.resize((side, side), Pillow.Resampling.BICUBIC)
        if random.random() < FLIP:
            scaled = scaled.transpose(Pillow.Transpose.FLIP_LEFT_RIGHT)
        values = np.array(jittered(scaled), dtype=np.uint8)
        pixels = torch.from_numpy(values).permute(2, 0, 1).contiguous().float().div(255)
        mean, std = (torch.tensor(row).view(3, 1, 1) for row in (self._norm.mean, self._norm.std))
        return (pixels - mean) / std


def jittered(picture: Pillow.Image) -> Pillow.Image:
    """Change brightness and hue in an order that is drawn, each as torchvision does it with Pillow."""
    steps = [brightened, turned]
    random.shuffle(steps)
    for step in steps:
        picture = step(picture)
    return picture


def brightened(picture: Pillow.Image) -> Pillow.Image:
    """Multiply by a factor that is drawn."""
    return ImageEnhance.Brightness(picture).enhance(random.uniform(1 - BRIGHTNESS, 1 + BRIGHTNESS))


def turned(picture: Pillow.Image) -> Pillow.Image:
    """Turn the hue by an angle that is drawn."""
    hue, saturation, value = picture.convert("HSV").split()
    moved = np.array(hue, dtype=np.uint8)
    moved += np.uint8(round(random.uniform(-HUE, HUE) * 255) % 256)
    return Pillow.merge("HSV", (Pillow.fromarray(moved, "L"), saturation, value)).convert("RGB")


def forever(
    dataset: PublishedDataset, batch_size: int, workers: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield full batches, epoch after epoch. An epoch has as many pairs as the published one."""
    loader = torch.utils.data.DataLoader(
        dataset,
        batch_size=batch_size,
        num_workers=workers,
        sampler=torch.utils.data.RandomSampler(dataset, num_samples=EPOCH),
        drop_last=True,
        persistent_workers=True,
    )
    while True:
        yield from loader


def update(
    model: DualEncoder,
    optimizer: torch.optim.Optimizer,
    batch: tuple[torch.Tensor, torch.Tensor],
    device: torch.device,
) -> float:
    """Do one update as published, and return its loss."""
    pixels, tokens = (part.to(device) for part in batch)
    optimizer.zero_grad()
    halves = [model.encode_views(pixels[:, view]) for view in range(2)]
    images = F.normalize((halves[0] + halves[1]) / 2, dim=-1)
    logits = model.scale() * images @ model.encode_texts(tokens).T
    truth = torch.arange(len(logits), device=device)
    loss = (F.cross_entropy(logits, truth) + F.cross_entropy(logits.T, truth)) / 2
    loss.backward()
    optimizer.step()
    return loss.item()
