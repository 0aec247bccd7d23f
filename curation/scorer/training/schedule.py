"""The learning rate of an update: linear warm-up, then constant, optionally reduced on a plateau.

As published: the first update has rate 0, and update ``warmup_steps`` has the full rate. The published code also
divides the rate by 10 after a validation whose loss is not a new best (``ReduceLROnPlateau(patience=0)``). The paper
does not mention this, so it is an option here. The published warm-up overwrites a reduction; here reductions during
warm-up are ignored.
"""

from dataclasses import dataclass

REDUCTION_FACTOR, IMPROVEMENT_THRESHOLD, MIN_CHANGE = 0.1, 1e-4, 1e-8
"""torch's defaults of ``ReduceLROnPlateau``: a new best is lower by one part in ten thousand."""


@dataclass(slots=True)
class WarmupSchedule:
    """A rate per update, counted from 0. ``best`` and ``cuts`` (number of reductions) are its state."""

    rate: float
    warmup_steps: int
    reduce_on_plateau: bool = False
    best: float = float("inf")
    cuts: int = 0

    def rate_at(self, update: int) -> float:
        """Return the rate of an update."""
        if update < self.warmup_steps:
            return self.rate * update / self.warmup_steps
        return float(self.rate * REDUCTION_FACTOR**self.cuts)

    def record_validation(self, loss: float | None, update: int) -> None:
        """Reduce the rate if a validation's loss before ``update`` is not a new best."""
        if not self.reduce_on_plateau or loss is None:
            return
        if loss < self.best * (1 - IMPROVEMENT_THRESHOLD):
            self.best = loss
        elif update >= self.warmup_steps and self.rate_at(update) * (1 - REDUCTION_FACTOR) > MIN_CHANGE:
            self.cuts += 1
