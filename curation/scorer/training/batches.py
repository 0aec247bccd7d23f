"""Select the pairs of each update and load them onto the device.

Random draws are those of ``batch_plan``, so several processes draw the same values as one: each draws for the whole
batch and uses its rows. The next batch is read while the device computes.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from curation.features.pixels import Normalisation
from curation.scorer.config import TextMode
from curation.scorer.model.folder import LoadedScorer
from curation.scorer.model.tokens import trim_padding
from curation.scorer.texts import TextKind, format_texts
from curation.scorer.training.augment import (
    AugmentationDraws,
    augment,
    draw_augmentations,
    normalise,
    scale_to_unit,
)
from curation.scorer.training.batch_plan import BatchPlan, RandomStream
from curation.scorer.training.distributed import World
from curation.scorer.training.inputs import Pair
from curation.scorer.training.pixels import PreparedPixels

CLUE_PROBABILITY = 0.5
"""Probability that multitask training uses the clue (the published code)."""
_TEXT_CHUNK_SIZE = 4096
_LENGTH_STEP = 8  # text lengths are multiples of it: a compiled tower is recompiled for each length


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """This process's rows of a batch, on the device: bytes (n, views, 3, side, side), and (n, length) tokens."""

    pixels: Tensor
    tokens: Tensor
    draws: AugmentationDraws | None

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.pixels)


@dataclass(frozen=True, slots=True)
class PairTokens:
    """The texts of all pairs as (pairs, context_length) int32 tokens; of one kind, or of both."""

    kinds: tuple[Tensor, ...]
    end: int

    def select(self, pairs: NDArray[np.int64], kind: NDArray[np.int64] | None = None) -> Tensor:
        """Return (n, length) int64 tokens of some pairs, without their common padding."""
        rows = torch.from_numpy(pairs)
        tokens = self.kinds[0][rows]
        if kind is not None:
            tokens = torch.where(torch.from_numpy(kind)[:, None] == 0, tokens, self.kinds[1][rows])
        length = trim_padding(tokens, self.end).shape[1]
        return tokens[:, : -(-length // _LENGTH_STEP) * _LENGTH_STEP].long()


def training_tokens(pairs: Sequence[Pair], scorer: LoadedScorer) -> PairTokens:
    """Return the texts to train on: clues, inferences, or both in this order."""
    kinds = {
        TextMode.CLUE: (TextKind.CLUE,),
        TextMode.INFERENCE: (TextKind.INFERENCE,),
        TextMode.MULTITASK: (TextKind.CLUE, TextKind.INFERENCE),
    }[scorer.card.text_mode]
    return PairTokens(tuple(_tokenize(pairs, scorer, kind) for kind in kinds), scorer.tokenizer.end)


def validation_tokens(pairs: Sequence[Pair], scorer: LoadedScorer) -> PairTokens:
    """Return the texts to validate with: inferences, or clues for a scorer of clues (the published code)."""
    kind = TextKind.CLUE if scorer.card.text_mode is TextMode.CLUE else TextKind.INFERENCE
    return PairTokens((_tokenize(pairs, scorer, kind),), scorer.tokenizer.end)


def _tokenize(pairs: Sequence[Pair], scorer: LoadedScorer, kind: TextKind) -> Tensor:
    card = scorer.card
    found = [getattr(pair, kind.value) for pair in pairs]
    texts = format_texts(found, kind, mode=card.text_mode, prompt=card.prompt)
    blocks = [texts[start : start + _TEXT_CHUNK_SIZE] for start in range(0, len(texts), _TEXT_CHUNK_SIZE)]
    token_blocks = [scorer.tokenizer(block).to(torch.int32) for block in blocks]
    empty = torch.zeros((0, card.context_length), dtype=torch.int32)
    return torch.cat(token_blocks) if token_blocks else empty


class BatchLoader:
    """Reads batches, one ahead. ``grayscale``: probability of a grey view; ``None`` turns augmentation off."""

    def __init__(
        self,
        pixels: PreparedPixels,
        tokens: PairTokens,
        plan: BatchPlan,
        *,
        world: World,
        device: torch.device,
        grayscale: float | None,
    ) -> None:
        self._pixels, self._tokens, self._plan = pixels, tokens, plan
        self._world, self._device, self._grayscale = world, device, grayscale
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._next: dict[int, Future[TrainingBatch]] = {}

    def __call__(self, update: int) -> TrainingBatch:
        """Return the batch of an update, and start reading the next one."""
        future = self._next.pop(update, None) or self._reader.submit(self._read, update)
        batch = future.result()
        self._next = {update + 1: self._reader.submit(self._read, update + 1)}
        return move_to_device(batch, self._device)

    def close(self) -> None:
        """Wait for the batch that is being read."""
        self._reader.shutdown(cancel_futures=True)

    def _read(self, update: int) -> TrainingBatch:
        plan, views = self._plan, self._pixels.shape[0]
        pairs, own = plan.items(update), self._world.own_slice(plan.size)
        kind = None
        if len(self._tokens.kinds) > 1:
            uniform = plan.generator(RandomStream.TEXTS, update).random(plan.size)
            kind = (uniform >= CLUE_PROBABILITY).astype(np.int64)
        draws = None
        if self._grayscale is not None:
            draws = draw_augmentations(
                plan.generator(RandomStream.AUGMENTATION, update), plan.size, views, self._grayscale
            ).select(own)
        tokens = self._tokens.select(pairs, kind)[own]
        windows = None if draws is None else draws.window
        return TrainingBatch(read_pixels(self._pixels, pairs[own], windows, self._device), tokens, draws)


def read_pixels(
    pixels: PreparedPixels,
    pairs: NDArray[np.int64],
    windows: NDArray[np.float64] | None,
    device: torch.device,
) -> Tensor:
    """Return the (n, views, 3, side, side) bytes of some pairs, in pinned memory for a GPU."""
    buffer = torch.empty((len(pairs), *pixels.shape), dtype=torch.uint8, pin_memory=device.type == "cuda")
    pixels.read(pairs, windows, buffer.numpy())
    return buffer


def move_to_device(batch: TrainingBatch, device: torch.device) -> TrainingBatch:
    """Return the same batch on a device."""
    pixels, tokens = (tensor.to(device, non_blocking=True) for tensor in (batch.pixels, batch.tokens))
    return TrainingBatch(pixels, tokens, batch.draws)


class BatchEmbedder:
    """Embeds rows of a batch: augments and normalises on the device, then runs both towers in mixed precision.

    images, texts: the towers, perhaps compiled. dtype: of matrix products; float32 turns autocast off.
    """

    def __init__(
        self,
        images: Callable[[Tensor], Tensor],
        texts: Callable[[Tensor], Tensor],
        norm: Normalisation,
        *,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        self._images, self._texts = images, texts
        self._mean, self._std = (torch.tensor(values, device=device) for values in (norm.mean, norm.std))
        self._device, self._dtype = device, dtype

    def __call__(self, batch: TrainingBatch, rows: slice) -> tuple[Tensor, Tensor]:
        """Return (n, dim) float32 rows of length 1 of images and of texts."""
        pixels, tokens = batch.pixels[rows], batch.tokens[rows]
        with torch.no_grad():
            draws = batch.draws
            inputs = scale_to_unit(pixels) if draws is None else augment(pixels, draws.select(rows))
            inputs = normalise(inputs, self._mean, self._std)
        is_mixed = self._dtype is not torch.float32
        with torch.autocast(self._device.type, dtype=self._dtype, enabled=is_mixed):
            images, texts = self._images(inputs), self._texts(tokens)
        return images.float(), texts.float()
