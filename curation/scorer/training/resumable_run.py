"""What every training run does with its folder: resume from its checkpoint, log, and save its exact state."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import nn

from curation.features.encoder import Precision
from curation.files import file_sha256, write_text
from curation.records import InvalidInput
from curation.scorer.training.checkpoint import Checkpoint, save_checkpoint
from curation.scorer.training.distributed import World
from curation.scorer.training.environment import Settings, describe_environment, write_environment
from curation.scorer.training.journal import Journal
from curation.scorer.training.loop import RateSchedule, TrainingState

BEST_FOLDER, RESULT_FILE = "best", "done.json"
Result = TypeVar("Result")


class HashedInputs(Protocol):
    """The inputs of a run. sha256: of everything that determines its result. total_steps: without early stopping."""

    @property
    def config(self) -> Settings:
        """The settings."""
        ...

    @property
    def sha256(self) -> str:
        """The hash."""
        ...

    @property
    def total_steps(self) -> int:
        """The number of updates."""
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
        self._total_steps = inputs.total_steps

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

    def write_result(
        self, kind: type[Any], state: TrainingState, *, layout: str, noun: str, card: str, **facts: int
    ) -> None:
        """Write the result of a finished run, for ``read_result``.

        Args:
            kind: the dataclass of the result; fields that validations have are those of the saved model. layout: the
                file's format. noun, card: what the saved model is, and its card's file name. facts: further fields.

        Raises:
            InvalidInput: the saved model or its validation is missing.
        """
        saved = self.run / BEST_FOLDER / card
        best = next((row for row in self.journal.validations() if row["step"] == state.best_step), None)
        if best is None or not saved.is_file():
            raise InvalidInput(
                f"{self.run}: the {noun} of step {state.best_step} or its validation is missing; "
                f"delete checkpoint/ and {BEST_FOLDER}/ to train from the start"
            )
        result = kind(
            steps=state.step,
            best_step=state.best_step,
            stopped="steps" if state.step == self._total_steps else "patience",
            weights_sha256=file_sha256(saved),
            **{field.name: best[field.name] for field in fields(kind) if field.name in best},
            **facts,
        )
        document = json.dumps({"format": layout, **asdict(result)}, indent=1)
        write_text(self.run / RESULT_FILE, [document + "\n"])

    def _restore_state(self, checkpoint: Checkpoint | None) -> TrainingState:
        if checkpoint is None:
            self.world.broadcast_from_first(self.model.state_dict().values())
            return TrainingState()
        checkpoint.restore(self.model, self.optimizer)
        self.rates.restore(checkpoint.state["rates"])
        values = checkpoint.state["standing"]
        return TrainingState(**{**values, "best": tuple(values["best"])})


def read_result(run: Path, kind: type[Result]) -> Result:
    """Return the result of a finished run. kind: its dataclass.

    Raises:
        InvalidInput: it is missing or broken.
    """
    try:
        values = json.loads((run / RESULT_FILE).read_text("utf-8"))
        del values["format"]
        return kind(**values)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{run / RESULT_FILE}: is broken; delete it and train again") from error
