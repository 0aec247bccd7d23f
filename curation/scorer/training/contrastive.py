"""The objective: symmetric InfoNCE over one large batch, with only one chunk in memory at a time.

Every other text of the batch is a negative of an image. The loss is the mean of both cross entropies; logits are a
learned scale times the cosine (Hessel et al. 2022 §5, doi:10.1007/978-3-031-20059-5_32; Radford et al. 2021).

Gradient caching (Gao et al. 2021, doi:10.18653/v1/2021.repl4nlp-1.31) makes the batch independent of memory: embed
all chunks without a graph; compute the loss and its gradient with respect to the embeddings; embed each chunk again
with a graph, and backpropagate its rows of that gradient. The sum over the chunks is the gradient of the whole batch,
at the cost of a second forward pass. Each process does this for its rows, and the gradients are summed.

This module does not depend on what is embedded. Rows must be independent of each other: batch normalisation by batch
statistics would use a chunk's statistics (the towers here use running statistics).
"""

from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from curation.scorer.training.batch_plan import temporary_seed
from curation.scorer.training.distributed import SINGLE_PROCESS, World

Batch = TypeVar("Batch", bound=Sized)
EmbeddingPair = tuple[Tensor, Tensor]
EmbedFunction = Callable[[Batch, slice], EmbeddingPair]
"""Embeds rows of a batch: two (n, d) tensors of rows of length 1, of images and of texts."""


def symmetric_loss(images: Tensor, texts: Tensor, scale: Tensor) -> Tensor:
    """Return the scalar loss of (n, d) rows; row i of images and row i of texts are a true pair."""
    logits = scale * images @ texts.T
    targets = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, targets) + F.cross_entropy(logits.T, targets)) / 2


@dataclass(frozen=True, slots=True)
class ContrastiveObjective(Generic[Batch]):
    """Sets every parameter's gradient for one update.

    model: its parameters get the gradients. embed: embeds rows of a batch. scale: the logit scale, with its graph.
    load_batch: returns this process's rows of an update, from 0. chunk_size: rows in memory at once; 0 is all.
    seed: of randomness within the model, such as dropout.
    """

    model: nn.Module
    embed: EmbedFunction[Batch]
    scale: Callable[[], Tensor]
    load_batch: Callable[[int], Batch]
    chunk_size: int = 0
    world: World = SINGLE_PROCESS
    seed: int = 0

    def __call__(self, update: int) -> float:
        """Backpropagate one batch and return its loss. Gradients are added to existing ones."""
        batch = self.load_batch(update)
        chunks = chunk_slices(len(batch), self.chunk_size)
        with torch.set_grad_enabled(
            len(chunks) == 1
        ):  # a single chunk keeps its graph and needs no second pass
            embeddings = [self._embed_chunk(batch, rows, update) for rows in chunks]
        loss, images, texts = self._gradients(*(torch.cat(parts) for parts in zip(*embeddings, strict=True)))
        for rows in chunks:
            outputs = embeddings[0] if len(chunks) == 1 else self._embed_chunk(batch, rows, update)
            torch.autograd.backward(outputs, [images[rows], texts[rows]])
        self.world.sum_gradients(self.model.parameters())
        return loss

    def _embed_chunk(self, batch: Batch, rows: slice, update: int) -> EmbeddingPair:
        """Embed a chunk with the same random numbers in both passes of an update."""
        offset = len(batch) * self.world.rank + rows.start
        with temporary_seed((self.seed, update, offset)):
            return self.embed(batch, rows)

    def _gradients(self, images: Tensor, texts: Tensor) -> tuple[float, Tensor, Tensor]:
        """Return the whole batch's loss and its gradients with respect to this process's (n, d) rows.

        The scale's gradient is equal in all processes, so only one process keeps it before the sum.
        """
        gathered = [self.world.gather_rows(rows).requires_grad_() for rows in (images, texts)]
        with torch.enable_grad():
            scale = self.scale()
            loss = symmetric_loss(gathered[0], gathered[1], scale)
            image_grads, text_grads, scale_grad = torch.autograd.grad(loss, (*gathered, scale))
            scale.backward(scale_grad if self.world.is_writer else torch.zeros_like(scale_grad))
        own = slice(len(images) * self.world.rank, len(images) * (self.world.rank + 1))
        return float(loss.detach()), image_grads[own], text_grads[own]


def chunk_slices(count: int, size: int) -> list[slice]:
    """Return the rows of each chunk of ``size`` rows; a size of 0 is all rows at once."""
    step = size or count
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]
