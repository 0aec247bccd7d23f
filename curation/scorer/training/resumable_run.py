"""What every training run does with its folder: resume from its checkpoint, log, and save its exact state."""

from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import torch
from torch import nn

from curation.features.encoder import Precision
from curation.scorer.training.checkpoint import Checkpoint, save_checkpoint
from curation.scorer.training.distributed import World
from curation.scorer.training.environment import Settings, describe_environment, write_environment
from curation.scorer.training.journal import Journal
from curation.scorer.training.loop import RateSchedule, TrainingState


class HashedInputs(Protocol):
    """The inputs of a run. sha256: of everything that determines its result."""

    @property
    def config(self) -> Settings:
        """The settings."""
        ...

    @property
    def sha256(self) -> str:
        """The hash."""
        ...


class ResumableRun:
    """One run in this process. Only the first process of several writes files."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    rates: RateSchedule
    journal: Journal
    precision: Precision

    def __init__(self, run: Path, inputs: HashedInputs, world: World, device: torch.device) -> None:
        self.run, self.world, self.device = run, world, device
        self._settings, self._inputs_hash = inputs.config, inputs.sha256

    def begin(self, checkpoint: Checkpoint | None) -> TrainingState:
        """Return the state to train from, and drop what the journal has of later steps."""
        state = self._restore_state(checkpoint)
        if self.world.is_writer:
            environment = describe_environment(
                self._settings,
                precision=self.precision,
                device=self.device,
                world=self.world,
                step=state.step,
            )
            write_environment(self.run, environment)
            self.journal.truncate_after(state.step)
        return state

    def save_state(self, state: TrainingState) -> None:
        """Replace the checkpoint; the journal's rows are on disk before it."""
        if not self.world.is_writer:
            return
        self.journal.sync()
        save_checkpoint(
            self.run,
            self.model,
            self.optimizer,
            inputs_hash=self._inputs_hash,
            state={"standing": asdict(state), "rates": self.rates.as_json()},
        )

    def _restore_state(self, checkpoint: Checkpoint | None) -> TrainingState:
        if checkpoint is None:
            self.world.broadcast_from_first(self.model.state_dict().values())
            return TrainingState()
        checkpoint.restore(self.model, self.optimizer)
        self.rates.restore(checkpoint.state["rates"])
        standing = checkpoint.state["standing"]
        return TrainingState(**{**standing, "best": tuple(standing["best"])})
