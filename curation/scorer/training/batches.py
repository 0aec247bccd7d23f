"""Which pairs an update sees, and how they come to the device. All chance is of (seed, epoch or update, place).

So nothing about random numbers need be stored to go on after a stop, and several processes together draw what one
would draw alone: each draws for the whole batch and takes its rows. The next batch is read while the device computes.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from curation.features.pixels import Normalisation
from curation.scorer.config import TextMode
from curation.scorer.model.folder import LoadedScorer
from curation.scorer.model.tokens import without_padding
from curation.scorer.texts import TextKind, worded
from curation.scorer.training.augment import Draws, augmented, draw, normalised, plain
from curation.scorer.training.distributed import World
from curation.scorer.training.inputs import Pair
from curation.scorer.training.pixels import PreparedPixels

CLUES = 0.5
"""How often multitask training takes the clue (the published code)."""
_TEXTS_AT_ONCE = 4096
_LENGTH_STEP = 8  # texts of few different lengths: a compiled tower is made once for each


class _Chance(IntEnum):
    """What is drawn; each has random numbers of its own."""

    ORDER = 0
    TEXTS = 1
    AUGMENTATION = 2


@dataclass(frozen=True, slots=True)
class Batch:
    """This process's rows of a batch, on the device: bytes (n, views, 3, side, side), and (n, length) tokens."""

    pixels: Tensor
    tokens: Tensor
    draws: Draws | None

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.pixels)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The texts of all pairs as (pairs, context_length) int32 tokens; one kind, or both."""

    kinds: tuple[Tensor, ...]
    end: int

    def taken(self, pairs: NDArray[np.int64], kind: NDArray[np.int64] | None = None) -> Tensor:
        """Return (n, length) int64 tokens of some pairs, without the padding that all of them have."""
        rows = torch.from_numpy(pairs)
        found = self.kinds[0][rows]
        if kind is not None:
            found = torch.where(torch.from_numpy(kind)[:, None] == 0, found, self.kinds[1][rows])
        cut = without_padding(found, self.end).shape[1]
        return found[:, : -(-cut // _LENGTH_STEP) * _LENGTH_STEP].long()


def training_tokens(pairs: Sequence[Pair], scorer: LoadedScorer) -> Tokens:
    """Return the texts to train on: clues first, then inferences, where both are."""
    kinds = {
        TextMode.CLUE: (TextKind.CLUE,),
        TextMode.INFERENCE: (TextKind.INFERENCE,),
        TextMode.MULTITASK: (TextKind.CLUE, TextKind.INFERENCE),
    }[scorer.card.text_mode]
    return Tokens(tuple(_tokens(pairs, scorer, kind) for kind in kinds), scorer.tokenizer.end)


def validation_tokens(pairs: Sequence[Pair], scorer: LoadedScorer) -> Tokens:
    """Return the texts to validate with: inferences, but for a scorer of clues alone (the published code)."""
    kind = TextKind.CLUE if scorer.card.text_mode is TextMode.CLUE else TextKind.INFERENCE
    return Tokens((_tokens(pairs, scorer, kind),), scorer.tokenizer.end)


def _tokens(pairs: Sequence[Pair], scorer: LoadedScorer, kind: TextKind) -> Tensor:
    card = scorer.card
    texts = worded(
        [getattr(pair, kind.value) for pair in pairs], kind, mode=card.text_mode, prompt=card.prompt
    )
    blocks = [texts[start : start + _TEXTS_AT_ONCE] for start in range(0, len(texts), _TEXTS_AT_ONCE)]
    found = [scorer.tokenizer(block).to(torch.int32) for block in blocks]
    return torch.cat(found) if found else torch.zeros((0, card.context_length), dtype=torch.int32)


@dataclass(frozen=True, slots=True)
class Plan:
    """Which pairs stand in which update. count: of all pairs. size: of the whole batch."""

    count: int
    size: int
    seed: int

    @property
    def per_epoch(self) -> int:
        """Updates per epoch; what is left over when pairs do not fill a batch differs from epoch to epoch."""
        return self.count // self.size

    def epoch(self, update: int) -> int:
        """Return the epoch of an update, both numbered from 0."""
        return update // self.per_epoch

    def pairs(self, update: int) -> NDArray[np.int64]:
        """Return the (size,) pairs of an update."""
        start = update % self.per_epoch * self.size
        return _order(self, self.epoch(update))[start : start + self.size].copy()

    def chance(self, what: _Chance, number: int) -> np.random.Generator:
        """Return the random numbers for one purpose, in one epoch or update."""
        return np.random.default_rng((self.seed, int(what), number))


@lru_cache(maxsize=2)  # batches are read one ahead, so two epochs may be at hand
def _order(plan: Plan, epoch: int) -> NDArray[np.int64]:
    """Return all pairs in the order of an epoch; each of its updates copies a slice of it."""
    return plan.chance(_Chance.ORDER, epoch).permutation(plan.count)


class Batches:
    """Reads batches, one ahead. ``grayscale`` is the augmentation's probability; ``None`` augments nothing."""

    def __init__(
        self,
        pixels: PreparedPixels,
        tokens: Tokens,
        plan: Plan,
        *,
        world: World,
        device: torch.device,
        grayscale: float | None,
    ) -> None:
        self._pixels, self._tokens, self._plan = pixels, tokens, plan
        self._world, self._device, self._grayscale = world, device, grayscale
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._next: dict[int, Future[Batch]] = {}

    def __call__(self, update: int) -> Batch:
        """Return the batch of an update, and begin to read the one after it."""
        waiting = self._next.pop(update, None) or self._reader.submit(self._read, update)
        batch = waiting.result()
        self._next = {update + 1: self._reader.submit(self._read, update + 1)}
        return on_device(batch, self._device)

    def close(self) -> None:
        """Wait for what is being read."""
        self._reader.shutdown(cancel_futures=True)

    def _read(self, update: int) -> Batch:
        plan, views = self._plan, self._pixels.shape[0]
        pairs, own = plan.pairs(update), self._world.share(plan.size)
        kind = None
        if len(self._tokens.kinds) > 1:
            kind = (plan.chance(_Chance.TEXTS, update).random(plan.size) >= CLUES).astype(np.int64)
        draws = None
        if self._grayscale is not None:
            draws = draw(plan.chance(_Chance.AUGMENTATION, update), plan.size, views, self._grayscale).part(
                own
            )
        tokens = self._tokens.taken(pairs, kind)[own]
        windows = None if draws is None else draws.window
        return Batch(read_pixels(self._pixels, pairs[own], windows, self._device), tokens, draws)


def read_pixels(
    pixels: PreparedPixels,
    pairs: NDArray[np.int64],
    windows: NDArray[np.float64] | None,
    device: torch.device,
) -> Tensor:
    """Return the (n, views, 3, side, side) bytes of some pairs, in memory that a GPU can fetch by itself."""
    found = torch.empty((len(pairs), *pixels.shape), dtype=torch.uint8, pin_memory=device.type == "cuda")
    pixels.read(pairs, windows, found.numpy())
    return found


def on_device(batch: Batch, device: torch.device) -> Batch:
    """Return the same batch on a device."""
    return Batch(
        batch.pixels.to(device, non_blocking=True), batch.tokens.to(device, non_blocking=True), batch.draws
    )


class Embedding:
    """Embeds rows of a batch: augments and normalises on the device, then both towers in a mixed precision.

    images, texts: the towers, perhaps compiled. dtype: what products are made in; float32 is no mixing.
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

    def __call__(self, batch: Batch, rows: slice) -> tuple[Tensor, Tensor]:
        """Return (n, dim) float32 rows of length 1 of pictures and of texts."""
        pixels, tokens = batch.pixels[rows], batch.tokens[rows]
        with torch.no_grad():
            seen = plain(pixels) if batch.draws is None else augmented(pixels, batch.draws.part(rows))
            seen = normalised(seen, self._mean, self._std)
        mixed = self._dtype is not torch.float32
        with torch.autocast(self._device.type, dtype=self._dtype, enabled=mixed):
            images, texts = self._images(seen), self._texts(tokens)
        return images.float(), texts.float()
