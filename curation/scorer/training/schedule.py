"""The learning rate of an update: linear warm-up, then constant, then perhaps a tenth.

As published: the first update has rate 0 and the rate is reached at update ``warmup_steps``. The published code also
cuts the rate to a tenth after a validation whose loss is no new best (``ReduceLROnPlateau(patience=0)``); the paper
says nothing of it, and here it is an option. A cut during warm-up is overwritten by the next step of the warm-up
there, and counts for nothing here.
"""

from dataclasses import dataclass

FACTOR, THRESHOLD, LEAST_CHANGE = 0.1, 1e-4, 1e-8
"""torch's defaults of ``ReduceLROnPlateau``: a new best is lower by one part in ten thousand."""


@dataclass(slots=True)
class Schedule:
    """A rate per update, numbered from 0. ``best`` and ``cuts`` are its state."""

    rate: float
    warmup_steps: int
    reduce_on_plateau: bool = False
    best: float = float("inf")
    cuts: int = 0

    def at(self, update: int) -> float:
        """Return the rate of an update."""
        if update < self.warmup_steps:
            return self.rate * update / self.warmup_steps
        return float(self.rate * FACTOR**self.cuts)

    def validated(self, loss: float | None, update: int) -> None:
        """Take note of a validation's loss before ``update``."""
        if not self.reduce_on_plateau or loss is None:
            return
        if loss < self.best * (1 - THRESHOLD):
            self.best = loss
        elif update >= self.warmup_steps and self.at(update) * (1 - FACTOR) > LEAST_CHANGE:
            self.cuts += 1
