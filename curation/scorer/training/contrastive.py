"""The objective: symmetric InfoNCE over one large batch, of which only a chunk is in memory at a time.

Every text of the batch is a negative of every picture but its own. Loss: the mean of both cross entropies, logits are
a learned scale times the cosine (paper 001 §5, doi:10.1007/978-3-031-20059-5_32; Radford et al. 2021).

Gradient caching (Gao et al. 2021, doi:10.18653/v1/2021.repl4nlp-1.31) makes the batch independent of memory: embed
all chunks without a graph; take the loss and its gradient with respect to the embeddings; embed each chunk again, now
with a graph, and send its rows of that gradient back through it. The sum over the chunks is the gradient of the whole
batch, at the price of a second forward pass. Each process does so for its rows, and the sums are added up.

Nothing here knows what is embedded. Rows must not depend on their neighbours: batch normalisation by the batch's own
statistics would see a chunk's (the towers here use the weights' statistics).
"""

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from curation.scorer.training.distributed import ALONE, World

Batch = TypeVar("Batch", bound=Sized)
Pairs = tuple[Tensor, Tensor]
Embed = Callable[[Batch, slice], Pairs]
"""The rows of a batch as two (n, d) tensors of rows of length 1, pictures' and texts'."""


def symmetric_loss(images: Tensor, texts: Tensor, scale: Tensor) -> Tensor:
    """Return the scalar loss of (n, d) rows that belong together pair by pair."""
    logits = scale * images @ texts.T
    truth = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, truth) + F.cross_entropy(logits.T, truth)) / 2


@dataclass(frozen=True, slots=True)
class Contrastive(Generic[Batch]):
    """Set every parameter's gradient for one update.

    model: whose parameters get gradients. embed, scale: what it makes of a batch; the scale carries a graph.
    batch: this process's rows of an update, numbered from 0. chunk_size: rows in memory at once; 0 is all.
    seed: of what is random within the model, such as dropout.
    """

    model: nn.Module
    embed: Embed[Batch]
    scale: Callable[[], Tensor]
    batch: Callable[[int], Batch]
    chunk_size: int = 0
    world: World = ALONE
    seed: int = 0

    def __call__(self, update: int) -> float:
        """Back-propagate one batch; return its loss. Gradients are added to what is there."""
        batch = self.batch(update)
        chunks = _chunks(len(batch), self.chunk_size)
        with torch.set_grad_enabled(len(chunks) == 1):  # one chunk keeps its graph, and is embedded once
            first = [self._embedded(batch, rows, update) for rows in chunks]
        loss, images, texts = self._gradients(*(torch.cat(part) for part in zip(*first, strict=True)))
        for rows in chunks:
            again = first[0] if len(chunks) == 1 else self._embedded(batch, rows, update)
            torch.autograd.backward(again, [images[rows], texts[rows]])
        self.world.sum_gradients(self.model.parameters())
        return loss

    def _embedded(self, batch: Batch, rows: slice, update: int) -> Pairs:
        """Embed a chunk with the same random numbers whenever it is embedded in this update."""
        place = len(batch) * self.world.rank + rows.start
        with _seeded((self.seed, update, place)):
            return self.embed(batch, rows)

    def _gradients(self, images: Tensor, texts: Tensor) -> tuple[float, Tensor, Tensor]:
        """Return the whole batch's loss and its gradients with respect to this process's (n, d) rows.

        The scale's gradient is the same in every process, so that one alone keeps it.
        """
        whole = [self.world.gathered(rows).requires_grad_() for rows in (images, texts)]
        with torch.enable_grad():
            scale = self.scale()
            loss = symmetric_loss(whole[0], whole[1], scale)
            to_images, to_texts, to_scale = torch.autograd.grad(loss, (*whole, scale))
            scale.backward(to_scale if self.world.writes else torch.zeros_like(to_scale))
        own = slice(len(images) * self.world.rank, len(images) * (self.world.rank + 1))
        return float(loss.detach()), to_images[own], to_texts[own]


def _chunks(count: int, size: int) -> list[slice]:
    step = size or count
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


@contextmanager
def _seeded(key: tuple[int, ...]) -> Iterator[None]:
    """Let torch draw from a seed of its own for a while; the global state is as before afterwards."""
    seed = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if torch.cuda.is_available() else []):
        torch.manual_seed(seed)
        yield
