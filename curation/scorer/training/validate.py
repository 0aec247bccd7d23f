"""A validation: the loss, and how well true pairs are found among about a thousand (the leaderboard's retrieval)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from curation.evaluation.retrieval import rank_true_pairs
from curation.scorer.training.batches import Batch, Embedding, Tokens, on_device, read_pixels
from curation.scorer.training.contrastive import symmetric_loss
from curation.scorer.training.distributed import World
from curation.scorer.training.pixels import PreparedPixels

CHUNK = 1000
"""The test set's parts hold 982 to 1,004 pairs."""
AT_ONCE = 128
_ORDER = 0  # of all validations alike, so that figures of several runs compare
Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Validation:
    """Mean ranks, 1 is best; P@1 in percent; the loss of training, over batches of its size. None without pairs."""

    loss: float | None = None
    im2txt: float | None = None
    txt2im: float | None = None
    p_at_1: float | None = None

    @property
    def quality(self) -> tuple[float, ...]:
        """Return P@1, and of equal ones the lower mean rank; nothing without pairs."""
        if self.p_at_1 is None or self.im2txt is None or self.txt2im is None:
            return ()
        return (self.p_at_1, -(self.im2txt + self.txt2im) / 2)


@dataclass(frozen=True, slots=True)
class Validator:
    """Validates a model in evaluation mode, without augmentation; every process encodes its share."""

    model: nn.Module
    embed: Embedding
    scale: Callable[[], torch.Tensor]
    pixels: PreparedPixels
    tokens: Tokens
    batch_size: int
    world: World
    device: torch.device

    def __call__(self, step: int) -> Validation:
        """Return what a validation finds; without pairs, nothing."""
        count = len(self.pixels)
        if not count:
            return Validation()
        order = np.random.default_rng(_ORDER).permutation(count)
        self.model.eval()
        try:
            with torch.no_grad():
                images, texts = self._encoded(order)
                loss = self._loss(images, texts)
        finally:
            self.model.train()
        return figures(images, texts, loss)

    def _encoded(self, order: NDArray[np.int64]) -> tuple[Rows, Rows]:
        own = order[self.world.share(len(order))]
        found: list[tuple[Rows, Rows]] = []
        for start in range(0, len(own), AT_ONCE):
            pairs = own[start : start + AT_ONCE]
            pixels = read_pixels(self.pixels, pairs, None, self.device)
            batch = on_device(Batch(pixels, self.tokens.taken(pairs), None), self.device)
            images, texts = self.embed(batch, slice(None))
            found.append((images.cpu().numpy(), texts.cpu().numpy()))
        everyones = [part for parts in self.world.everyones(found) for part in parts]
        return np.concatenate([part[0] for part in everyones]), np.concatenate(
            [part[1] for part in everyones]
        )

    def _loss(self, images: Rows, texts: Rows) -> float:
        scale, total = self.scale().float().cpu(), 0.0
        for start in range(0, len(images), self.batch_size):
            some = [torch.from_numpy(rows[start : start + self.batch_size]) for rows in (images, texts)]
            total += len(some[0]) * float(symmetric_loss(some[0], some[1], scale))
        return total / len(images)


def figures(images: Rows, texts: Rows, loss: float) -> Validation:
    """Return the measures of (n, dim) rows of length 1 that belong together, in equal parts of about a thousand."""
    parts = max(1, round(len(images) / CHUNK))
    splits = zip(np.array_split(images, parts), np.array_split(texts, parts), strict=True)
    ranks = [rank_true_pairs(some @ others.T) for some, others in splits]
    return Validation(
        loss=loss,
        im2txt=float(np.concatenate([part.im2txt for part in ranks]).mean()),
        txt2im=float(np.concatenate([part.txt2im for part in ranks]).mean()),
        p_at_1=float(100 * np.concatenate([part.hits for part in ranks]).mean()),
    )
