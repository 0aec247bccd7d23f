"""The learning rate of an update.

Scorers: linear warm-up, then constant, optionally reduced on a plateau. As published, the first update has rate 0,
and update ``warmup_steps`` has the full rate. The published code also divides the rate by 10 after a validation whose
loss is not a new best (``ReduceLROnPlateau(patience=0)``). The paper does not mention this, so it is an option here.
The published warm-up overwrites a reduction; here reductions during warm-up are ignored.

Choosers: constant, and halved when the validation's accuracy stays on a plateau (Zellers et al. 2019 §E).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from curation.scorer.training.loop import ValidationOutcome

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

    def record_validation(self, outcome: ValidationOutcome, update: int) -> None:
        """Reduce the rate if a validation's loss before ``update`` is not a new best."""
        loss = outcome.loss
        if not self.reduce_on_plateau or loss is None:
            return
        if loss < self.best * (1 - IMPROVEMENT_THRESHOLD):
            self.best = loss
        elif update >= self.warmup_steps and self.rate_at(update) * (1 - REDUCTION_FACTOR) > MIN_CHANGE:
            self.cuts += 1

    def as_json(self) -> dict[str, Any]:
        """Return the state."""
        return {"best": self.best, "cuts": self.cuts}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Return to a state."""
        self.best, self.cuts = state["best"], state["cuts"]


@dataclass(slots=True)
class PlateauSchedule:
    """A constant rate that is reduced when the validations' quality stays on a plateau.

    The same as torch's ``ReduceLROnPlateau(mode="max")``: after more than ``patience`` validations in a row without a
    new best, the rate is multiplied by ``factor``; then ``cooldown`` validations are not counted. ``best``, ``cuts``
    (number of reductions), ``bad`` and ``cooling`` are its state.
    """

    rate: float
    factor: float = 0.5
    patience: int = 1
    cooldown: int = 2
    best: float = float("-inf")
    cuts: int = 0
    bad: int = 0
    cooling: int = 0

    def rate_at(self, update: int) -> float:
        """Return the rate of an update."""
        return float(self.rate * self.factor**self.cuts)

    def record_validation(self, outcome: ValidationOutcome, update: int) -> None:
        """Reduce the rate if the first value of the quality, which is at least 0, stays on a plateau."""
        if not outcome.quality:
            return
        if outcome.quality[0] > self.best * (1 + IMPROVEMENT_THRESHOLD):
            self.best, self.bad = outcome.quality[0], 0
        else:
            self.bad += 1
        if self.cooling:
            self.cooling, self.bad = self.cooling - 1, 0
        if self.bad > self.patience:
            self.cooling, self.bad = self.cooldown, 0
            if self.rate_at(update) * (1 - self.factor) > MIN_CHANGE:
                self.cuts += 1

    def as_json(self) -> dict[str, Any]:
        """Return the state."""
        return {"best": self.best, "cuts": self.cuts, "bad": self.bad, "cooling": self.cooling}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Return to a state."""
        for name in ("best", "cuts", "bad", "cooling"):
            setattr(self, name, state[name])
