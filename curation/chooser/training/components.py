"""Build the components of one stage of a run: model, batches, objective, loop, output files."""

import shutil
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from curation.chooser.config import ChooserConfig, ModelKind
from curation.chooser.model.build import CARD, ChooserCard, InputSources, save_chooser, start_model
from curation.chooser.model.choice_model import ChoiceModel
from curation.chooser.training.inputs import StageInputs
from curation.chooser.training.journal import (
    LOSSES,
    VALIDATIONS,
    ChoiceLossRow,
    ChoiceValidationRow,
)
from curation.chooser.training.objective import ChoiceObjective, ChunkLoader
from curation.chooser.training.validate import Validation, Validator
from curation.features.clip import resolve_precision
from curation.features.encoder import Precision
from curation.scorer.training.batch_plan import BatchPlan
from curation.scorer.training.checkpoint import Checkpoint
from curation.scorer.training.distributed import World
from curation.scorer.training.environment import describe_training
from curation.scorer.training.journal import Journal
from curation.scorer.training.loop import TrainingLoop, Update, ValidationOutcome
from curation.scorer.training.process import ProgressCallback
from curation.scorer.training.resumable_run import BEST_FOLDER, ResumableRun
from curation.scorer.training.schedule import PlateauSchedule

PREPARED_FOLDER = "prepared"
FORMAT = "deerstalker-chosen/1"


@dataclass(frozen=True, slots=True)
class StageResult:
    """The result of a stage. loss and accuracy (percent) are those of the saved model, None without validation.

    steps: updates done. stopped: ``steps`` after the last update, ``patience`` after early stopping.
    weights_sha256: of the saved chooser's card, which lists those of its files.
    texts: texts of query and response, to train on and to validate with; cut_texts: those that were too long.
    """

    steps: int
    best_step: int
    loss: float | None
    accuracy: float | None
    stopped: str
    weights_sha256: str
    texts: int
    cut_texts: int


class StageRun(ResumableRun):
    """The components of one stage in this process."""

    def __init__(self, folder: Path, inputs: StageInputs, world: World, device: torch.device) -> None:
        super().__init__(folder, inputs, world, device)
        self.inputs, self.config = inputs, inputs.config
        sources = InputSources(inputs.images, inputs.features)
        self.chooser: ChoiceModel[Any] = start_model(self.config, sources, device)
        self.model = self.chooser.module.to(device).train()
        self.precision = _effective_precision(self.config, device)
        self.optimizer = _make_optimizer(self.config, self.model)
        self.rates = PlateauSchedule(
            self.config.learning_rate,
            patience=self.config.plateau_patience,
            cooldown=self.config.plateau_cooldown,
        )
        self.plan = BatchPlan(len(inputs.train), self.config.batch_size, self.config.seed)
        self.journal = Journal(folder, LOSSES, VALIDATIONS)

    def run_to_end(self, checkpoint: Checkpoint | None, report_progress: ProgressCallback) -> None:
        """Prepare, train, and write the result. Only the writing process calls ``report_progress``."""
        state = self.begin(checkpoint)
        report = report_progress if self.world.is_writer else lambda *_: None
        facts = self.chooser.prepare(
            (*self.inputs.train, *self.inputs.val),
            self.run / PREPARED_FOLDER,
            is_writer=self.world.is_writer,
            wait=self.world.wait_for_all,
            report_progress=lambda *_: report(state.step, self.inputs.total_steps),
        )
        loader = ChunkLoader(
            self.chooser,
            self.inputs.train,
            self.plan,
            world=self.world,
            chunk_size=self.config.chunk_size,
        )
        with closing(loader):
            state = self._make_loop(loader, report).run(state)
        if self.world.is_writer:
            texts = asdict(facts)
            self.write_result(StageResult, state, layout=FORMAT, noun="chooser", card=CARD, **texts)
            remove_prepared(self.run)
        self.world.wait_for_all()

    def _make_loop(self, loader: ChunkLoader, report_progress: ProgressCallback) -> TrainingLoop:
        config = self.config
        self._objective = ChoiceObjective(
            self.chooser,
            loader,
            batch_size=config.batch_size,
            class_loss=config.class_loss,
            clip_norm=config.clip_norm,
            seed=config.seed,
            world=self.world,
            device=self.device,
        )
        validator = Validator(self.chooser, self.inputs.val, self.world, self.device)
        return TrainingLoop(
            objective=self._objective,
            optimizer=self.optimizer,
            rates=self.rates,
            validate=validator,
            save_best=self._save_best,
            save_state=self.save_state,
            record_update=self._record_update,
            record_validation=self._record_validation,
            report_progress=report_progress,
            steps=self.inputs.total_steps,
            validate_every=self.inputs.validate_every,
            patience=config.patience,
        )

    def _save_best(self) -> None:
        if not self.world.is_writer:
            return
        card = ChooserCard(
            kind=self.config.kind,
            stage=self.inputs.stage,
            model=self.chooser.card(),
            precision=self.config.precision,
            made=describe_training(self.config, rehearsal=self.inputs.rehearsal),
        )
        save_chooser(self.run / BEST_FOLDER, self.chooser, card)

    def _record_update(self, update: Update) -> None:
        if not self.world.is_writer:
            return
        row = ChoiceLossRow(
            step=update.step,
            epoch=self.plan.epoch(update.step - 1) + 1,
            loss=update.loss,
            class_loss=self._objective.last_class_loss,
            learning_rate=update.rate,
            questions_per_second=round(self.config.batch_size / update.seconds, 2),
        )
        self.journal.record_update(row)

    def _record_validation(self, step: int, outcome: ValidationOutcome, is_best: bool) -> None:
        if self.world.is_writer:
            assert isinstance(outcome, Validation)
            row = ChoiceValidationRow(step=step, loss=outcome.loss, accuracy=outcome.accuracy, kept=is_best)
            self.journal.record_validation(row)


def remove_prepared(folder: Path) -> None:
    """Delete the prepared inputs of a finished stage: they are large and not needed any more."""
    shutil.rmtree(folder / PREPARED_FOLDER, ignore_errors=True)


def _effective_precision(config: ChooserConfig, device: torch.device) -> Precision:
    """Return the precision that a model computes in: R2C's LSTMs are small and stay in float32."""
    return Precision.FP32 if config.kind is ModelKind.R2C else resolve_precision(config.precision, device)


def _make_optimizer(config: ChooserConfig, model: torch.nn.Module) -> torch.optim.Optimizer:
    """Return Adam with weight decay in the gradient for R2C, as published; AdamW for fine-tuned transformers."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    kind = torch.optim.Adam if config.kind is ModelKind.R2C else torch.optim.AdamW
    return kind(parameters, lr=config.learning_rate, weight_decay=config.weight_decay)
