"""Validation: the loss, and retrieval of true pairs among about 1,000 as on the leaderboard."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from curation.evaluation.retrieval import rank_true_pairs
from curation.scorer.training.batches import (
    BatchEmbedder,
    PairTokens,
    TrainingBatch,
    move_to_device,
    read_pixels,
)
from curation.scorer.training.contrastive import symmetric_loss
from curation.scorer.training.distributed import World
from curation.scorer.training.pixels import PreparedPixels

CHUNK_SIZE = 1000
"""The chunks of the published test set have 982 to 1,004 pairs."""
BATCH_SIZE = 128
_ORDER_SEED = 0  # the same in all validations, so that runs are comparable
Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Validation:
    """Mean ranks (1 is best), P@1 in percent, the loss over batches of the training size. None without pairs."""

    loss: float | None = None
    im2txt: float | None = None
    txt2im: float | None = None
    p_at_1: float | None = None

    @property
    def quality(self) -> tuple[float, ...]:
        """P@1, with ties broken by the lower mean rank; empty without pairs."""
        if self.p_at_1 is None or self.im2txt is None or self.txt2im is None:
            return ()
        return (self.p_at_1, -(self.im2txt + self.txt2im) / 2)


@dataclass(frozen=True, slots=True)
class Validator:
    """Validates a model in evaluation mode, without augmentation; every process encodes its share."""

    model: nn.Module
    embed: BatchEmbedder
    scale: Callable[[], torch.Tensor]
    pixels: PreparedPixels
    tokens: PairTokens
    batch_size: int
    world: World
    device: torch.device

    def __call__(self, step: int) -> Validation:
        """Validate; without pairs the result is empty."""
        count = len(self.pixels)
        if not count:
            return Validation()
        order = np.random.default_rng(_ORDER_SEED).permutation(count)
        self.model.eval()
        try:
            with torch.no_grad():
                images, texts = self._encode(order)
                loss = self._loss(images, texts)
        finally:
            self.model.train()
        return measure_retrieval(images, texts, loss)

    def _encode(self, order: NDArray[np.int64]) -> tuple[Rows, Rows]:
        own = order[self.world.own_slice(len(order))]
        encoded: list[tuple[Rows, Rows]] = []
        for start in range(0, len(own), BATCH_SIZE):
            pairs = own[start : start + BATCH_SIZE]
            pixels = read_pixels(self.pixels, pairs, None, self.device)
            batch = move_to_device(TrainingBatch(pixels, self.tokens.select(pairs), None), self.device)
            images, texts = self.embed(batch, slice(None))
            encoded.append((images.cpu().numpy(), texts.cpu().numpy()))
        gathered = [chunk for chunks in self.world.gather_objects(encoded) for chunk in chunks]
        image_rows, text_rows = zip(*gathered, strict=True)
        return np.concatenate(image_rows), np.concatenate(text_rows)

    def _loss(self, images: Rows, texts: Rows) -> float:
        scale, total = self.scale().float().cpu(), 0.0
        for start in range(0, len(images), self.batch_size):
            batch = [torch.from_numpy(rows[start : start + self.batch_size]) for rows in (images, texts)]
            total += len(batch[0]) * float(symmetric_loss(batch[0], batch[1], scale))
        return total / len(images)


def measure_retrieval(images: Rows, texts: Rows, loss: float) -> Validation:
    """Return the measures of (n, dim) true pairs of length-1 rows, in equal chunks of about 1,000."""
    count = max(1, round(len(images) / CHUNK_SIZE))
    chunks = zip(np.array_split(images, count), np.array_split(texts, count), strict=True)
    ranks = [rank_true_pairs(image_rows @ text_rows.T) for image_rows, text_rows in chunks]
    return Validation(
        loss=loss,
        im2txt=float(np.concatenate([chunk.im2txt for chunk in ranks]).mean()),
        txt2im=float(np.concatenate([chunk.txt2im for chunk in ranks]).mean()),
        p_at_1=float(100 * np.concatenate([chunk.hits for chunk in ranks]).mean()),
    )
