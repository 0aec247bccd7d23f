"""The training loop. It knows no model and no data: an objective sets gradients, and the rest is handed in too."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch

from curation.records import InvalidInput


class Outcome(Protocol):
    """What a validation found. Of two qualities the greater is better; an empty one compares with nothing."""

    loss: float | None
    quality: tuple[float, ...]


class Rates(Protocol):
    """A learning rate per update, which validations may lower."""

    def at(self, update: int) -> float:
        """Return the rate of an update, numbered from 0."""
        ...

    def validated(self, loss: float | None, update: int) -> None:
        """Take note of a validation."""
        ...


@dataclass(slots=True)
class Standing:
    """Where a run stands: updates done, the best quality and its step, validations since then without a better."""

    step: int = 0
    best: tuple[float, ...] = ()
    best_step: int = 0
    stale: int = 0


@dataclass(frozen=True, slots=True)
class Update:
    """One row of the journal. step counts from 1. seconds: since the last one was done."""

    step: int
    loss: float
    rate: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Loop:
    """What the loop works with.

    objective: takes an update's number from 0, adds gradients to the parameters, returns the loss.
    validate: takes the updates done. keep: stores the model as the best so far. save: stores the exact state.
    record, report: told of each update and each validation. tell: (updates done, of how many); may raise to stop.
    every: updates between validations. patience: validations without a better one until the end; 0 is never.
    """

    objective: Callable[[int], float]
    optimizer: torch.optim.Optimizer
    rates: Rates
    validate: Callable[[int], Outcome]
    keep: Callable[[], None]
    save: Callable[[Standing], None]
    record: Callable[[Update], None]
    report: Callable[[int, Outcome, bool], None]
    tell: Callable[[int, int], None]
    steps: int
    every: int
    patience: int = 0
    clock: Callable[[], float] = field(default=time.perf_counter)

    def run(self, standing: Standing) -> Standing:
        """Train from ``standing`` to the end.

        Raises:
            InvalidInput: a loss that is no number; the last state that was saved is untouched.
            Exception: whatever ``tell`` raised, after the state was saved.
        """
        before = self.clock()
        while standing.step < self.steps and not self._tired(standing):
            loss, rate = self._update(standing.step)
            standing.step += 1
            now = self.clock()
            self.record(Update(standing.step, loss, rate, now - before))
            before = now
            if standing.step % self.every == 0 or standing.step == self.steps:
                self._checkpoint(standing)
                before = self.clock()
            self._told(standing)
        return standing

    def _update(self, number: int) -> tuple[float, float]:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.objective(number)
        if not math.isfinite(loss):
            raise InvalidInput(
                f"loss: is {loss} at step {number + 1}; the last checkpoint is kept: "
                "train anew with a lower learning rate, or with fp32"
            )
        rate = self.rates.at(number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return loss, rate

    def _checkpoint(self, standing: Standing) -> None:
        outcome = self.validate(standing.step)
        self.rates.validated(outcome.loss, standing.step)
        better = not standing.best or outcome.quality > standing.best
        standing.stale = 0 if better else standing.stale + 1
        if better:
            standing.best, standing.best_step = outcome.quality, standing.step
            self.keep()
        self.report(standing.step, outcome, better)
        self.save(standing)

    def _told(self, standing: Standing) -> None:
        try:
            self.tell(standing.step, self.steps)
        except BaseException:
            self.save(standing)
            raise

    def _tired(self, standing: Standing) -> bool:
        return self.patience > 0 and standing.stale >= self.patience
