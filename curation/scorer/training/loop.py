"""The training loop. It is independent of model and data: an objective sets the gradients."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from curation.records import InvalidInput


class ValidationOutcome(Protocol):
    """The result of a validation. A greater quality is better; an empty tuple means nothing was measured."""

    @property
    def loss(self) -> float | None:
        """The loss, if there is one."""
        ...

    @property
    def quality(self) -> tuple[float, ...]:
        """Compared as tuples."""
        ...


class RateSchedule(Protocol):
    """A learning rate per update, which validations may lower. Its state is plain values, kept in checkpoints."""

    def rate_at(self, update: int) -> float:
        """Return the rate of an update, counted from 0."""
        ...

    def record_validation(self, outcome: ValidationOutcome, update: int) -> None:
        """Adapt to a validation."""
        ...

    def as_json(self) -> dict[str, Any]:
        """Return the state."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Return to a state."""
        ...


@dataclass(slots=True)
class TrainingState:
    """The progress of a run. best: the quality of the best validation. stale: validations since the best one."""

    step: int = 0
    best: tuple[float, ...] = ()
    best_step: int = 0
    stale: int = 0


@dataclass(frozen=True, slots=True)
class Update:
    """One row of the journal. step counts from 1. seconds: since the previous update ended."""

    step: int
    loss: float
    rate: float
    seconds: float


@dataclass(frozen=True, slots=True)
class TrainingLoop:
    """The training loop and its callbacks.

    objective: takes an update's number from 0, adds gradients to the parameters, returns the loss.
    validate: takes the number of updates done. save_best: saves the model as the best so far. save_state: saves the
    exact state. record_update, record_validation: log each of them. report_progress: gets (updates done, total);
    may raise to stop. validate_every: updates between validations. patience: number of validations without a
    better one after which the loop ends; 0 is never.
    """

    objective: Callable[[int], float]
    optimizer: torch.optim.Optimizer
    rates: RateSchedule
    validate: Callable[[int], ValidationOutcome]
    save_best: Callable[[], None]
    save_state: Callable[[TrainingState], None]
    record_update: Callable[[Update], None]
    record_validation: Callable[[int, ValidationOutcome, bool], None]
    report_progress: Callable[[int, int], None]
    steps: int
    validate_every: int
    patience: int = 0
    clock: Callable[[], float] = field(default=time.perf_counter)

    def run(self, state: TrainingState) -> TrainingState:
        """Train from ``state`` to the end.

        Raises:
            InvalidInput: the loss is NaN or infinite; the last saved state is untouched.
            Exception: raised by ``report_progress``, after the state was saved.
        """
        last_time = self.clock()
        while state.step < self.steps and not self._is_out_of_patience(state):
            loss, rate = self._update(state.step)
            state.step += 1
            now = self.clock()
            self.record_update(Update(state.step, loss, rate, now - last_time))
            last_time = now
            if state.step % self.validate_every == 0 or state.step == self.steps:
                self._validate_and_save(state)
                last_time = self.clock()
            self._report_progress(state)
        return state

    def _update(self, number: int) -> tuple[float, float]:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.objective(number)
        if not math.isfinite(loss):
            raise InvalidInput(
                f"loss: is {loss} at step {number + 1}; the last checkpoint is unchanged: "
                "start a new run with a lower learning rate, or with fp32"
            )
        rate = self.rates.rate_at(number)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        return loss, rate

    def _validate_and_save(self, state: TrainingState) -> None:
        outcome = self.validate(state.step)
        self.rates.record_validation(outcome, state.step)
        is_best = not state.best or outcome.quality > state.best
        state.stale = 0 if is_best else state.stale + 1
        if is_best:
            state.best, state.best_step = outcome.quality, state.step
            self.save_best()
        self.record_validation(state.step, outcome, is_best)
        self.save_state(state)

    def _report_progress(self, state: TrainingState) -> None:
        try:
            self.report_progress(state.step, self.steps)
        except BaseException:
            self.save_state(state)
            raise

    def _is_out_of_patience(self, state: TrainingState) -> bool:
        return self.patience > 0 and state.stale >= self.patience
