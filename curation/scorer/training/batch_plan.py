"""Which items each update learns from, and the random numbers of a run.

All random draws depend on (seed, epoch or update, stream) only. So a resumed run needs no stored random state.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray


class RandomStream(IntEnum):
    """Independent streams of random numbers."""

    ORDER = 0
    TEXTS = 1
    AUGMENTATION = 2
    PADDING = 3


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The items of each update: pairs, or questions. count: of all items. size: of the whole batch."""

    count: int
    size: int
    seed: int

    @property
    def updates_per_epoch(self) -> int:
        """Updates per epoch; the items that do not fill a batch differ from epoch to epoch."""
        return self.count // self.size

    def epoch(self, update: int) -> int:
        """Return the epoch of an update, both numbered from 0."""
        return update // self.updates_per_epoch

    def items(self, update: int) -> NDArray[np.int64]:
        """Return the (size,) items of an update."""
        start = update % self.updates_per_epoch * self.size
        return _epoch_order(self, self.epoch(update))[start : start + self.size].copy()

    def generator(self, stream: RandomStream, epoch_or_update: int) -> np.random.Generator:
        """Return the generator of one stream in one epoch or update."""
        return np.random.default_rng((self.seed, int(stream), epoch_or_update))


@lru_cache(maxsize=2)  # batches are read one ahead, so two epochs may be in use
def _epoch_order(plan: BatchPlan, epoch: int) -> NDArray[np.int64]:
    """Return all items in an epoch's order; each update copies a slice of it."""
    return plan.generator(RandomStream.ORDER, epoch).permutation(plan.count)


@contextmanager
def temporary_seed(key: tuple[int, ...]) -> Iterator[None]:
    """Seed torch temporarily; the global random state is restored afterwards."""
    seed = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if torch.cuda.is_available() else []):
        torch.manual_seed(seed)
        yield
