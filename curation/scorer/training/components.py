"""Build the components of one training run from its folder: model, batches, objective, loop, output files."""

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from curation.features.clip import DTYPES, resolve_precision
from curation.features.encoder import Precision
from curation.scorer.config import TrainingConfig
from curation.scorer.model.folder import CARD, LoadedScorer, save_scorer
from curation.scorer.model.towers import DualEncoder
from curation.scorer.training.batches import (
    BatchEmbedder,
    BatchLoader,
    BatchPlan,
    training_tokens,
    validation_tokens,
)
from curation.scorer.training.checkpoint import Checkpoint
from curation.scorer.training.compiling import compile_function
from curation.scorer.training.contrastive import ContrastiveObjective
from curation.scorer.training.distributed import World
from curation.scorer.training.environment import describe_training
from curation.scorer.training.inputs import RunInputs
from curation.scorer.training.journal import Journal, LossRow, ValidationRow
from curation.scorer.training.loop import TrainingLoop, Update, ValidationOutcome
from curation.scorer.training.pixels import PreparedPixels, ViewSettings, open_pixels, prepare_pixels
from curation.scorer.training.process import ProgressCallback
from curation.scorer.training.resumable_run import BEST_FOLDER, ResumableRun
from curation.scorer.training.schedule import WarmupSchedule
from curation.scorer.training.starting_weights import load_starting_model
from curation.scorer.training.validate import Validation, Validator

PIXELS_FOLDER = "pixels"
FORMAT = "deerstalker-trained/1"


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The result of a run. The measures are those of the saved model, ``None`` without pairs to validate.

    steps: updates done. stopped: ``steps`` after the last update, ``patience`` after early stopping.
    weights_sha256: of the saved scorer's card, which lists those of its files.
    """

    steps: int
    best_step: int
    loss: float | None
    im2txt: float | None
    txt2im: float | None
    p_at_1: float | None
    stopped: str
    weights_sha256: str


class TrainingRun(ResumableRun):
    """The components of one run in this process."""

    def __init__(self, run: Path, inputs: RunInputs, world: World, device: torch.device) -> None:
        super().__init__(run, inputs, world, device)
        self.inputs, self.config = inputs, inputs.config
        self.scorer = _load_starting_scorer(inputs.config, rehearsal=inputs.rehearsal)
        self.model: DualEncoder = self.scorer.model.to(device).train()
        self.precision = resolve_precision(self.config.precision, device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=self.config.learning_rate,
            weight_decay=self.config.weight_decay,
            fused=device.type == "cuda",
        )
        rates = self.config.learning_rate, self.config.warmup_steps, self.config.reduce_on_plateau
        self.rates = WarmupSchedule(*rates)
        self.plan = BatchPlan(len(inputs.train), self.config.batch_size, self.config.seed)
        self.journal = Journal(run)

    def run_to_end(self, checkpoint: Checkpoint | None, report_progress: ProgressCallback) -> None:
        """Prepare, train, and write the result. Only the writing process calls ``report_progress``."""
        state = self.begin(checkpoint)
        train_pixels, val_pixels = self._prepare_pixels(
            lambda: report_progress(state.step, self.inputs.total_steps)
        )
        with closing(self._make_loader(train_pixels)) as batches:
            report = report_progress if self.world.is_writer else lambda *_: None
            loop = self._make_loop(batches, val_pixels, report)
            state = loop.run(state)
        if self.world.is_writer:
            self.write_result(TrainingResult, state, layout=FORMAT, noun="scorer", card=CARD)
            remove_pixels(self.run)
        self.world.wait_for_all()

    def _prepare_pixels(self, heartbeat: Callable[[], None]) -> tuple[PreparedPixels, PreparedPixels]:
        view = ViewSettings(self.config.region_mode, self.config.crop, self.scorer.card.norm)
        pairs_by_split = {"train": self.inputs.train, "val": self.inputs.val}
        folder = self.run / PIXELS_FOLDER
        if self.world.is_writer:
            for split, pairs in pairs_by_split.items():
                prepare_pixels(
                    pairs,
                    self.inputs.images,
                    view,
                    folder,
                    split=split,
                    report_progress=lambda *_: heartbeat(),
                )
        self.world.wait_for_all()
        train_pixels, val_pixels = (
            open_pixels(pairs, view, folder, split=split) for split, pairs in pairs_by_split.items()
        )
        return train_pixels, val_pixels

    def _make_loader(self, pixels: PreparedPixels) -> BatchLoader:
        return BatchLoader(
            pixels,
            training_tokens(self.inputs.train, self.scorer),
            self.plan,
            world=self.world,
            device=self.device,
            grayscale=self.config.grayscale if self.config.augment else None,
        )

    def _make_loop(
        self, batches: BatchLoader, val_pixels: PreparedPixels, report_progress: ProgressCallback
    ) -> TrainingLoop:
        config = self.config
        embed = make_embedder(self.scorer, self.device, self.precision, compile_towers=config.compile)
        objective = ContrastiveObjective(
            self.model,
            embed,
            self.model.scale,
            batches,
            chunk_size=config.chunk_size,
            world=self.world,
            seed=config.seed,
        )
        validate = Validator(
            self.model,
            embed,
            self.model.scale,
            val_pixels,
            validation_tokens(self.inputs.val, self.scorer),
            batch_size=config.batch_size,
            world=self.world,
            device=self.device,
        )
        return TrainingLoop(
            objective=objective,
            optimizer=self.optimizer,
            rates=self.rates,
            validate=lambda step: self.world.gather_objects(validate(step))[0],
            save_best=self._save_best,
            save_state=self.save_state,
            record_update=self._record_update,
            record_validation=self._record_validation,
            report_progress=report_progress,
            steps=self.inputs.total_steps,
            validate_every=config.checkpoint_every,
            patience=config.patience,
        )

    def _save_best(self) -> None:
        if self.world.is_writer:
            save_scorer(self.run / BEST_FOLDER, self.scorer)

    def _record_update(self, update: Update) -> None:
        if not self.world.is_writer:
            return
        row = LossRow(
            step=update.step,
            epoch=self.plan.epoch(update.step - 1) + 1,
            loss=update.loss,
            learning_rate=update.rate,
            scale=float(self.model.scale().detach()),
            images_per_second=round(self.config.batch_size / update.seconds, 2),
        )
        self.journal.record_update(row)

    def _record_validation(self, step: int, outcome: ValidationOutcome, is_best: bool) -> None:
        if self.world.is_writer:
            assert isinstance(outcome, Validation)
            row = ValidationRow(
                step=step,
                loss=outcome.loss,
                im2txt=outcome.im2txt,
                txt2im=outcome.txt2im,
                p_at_1=outcome.p_at_1,
                kept=is_best,
            )
            self.journal.record_validation(row)


def remove_pixels(run: Path) -> None:
    """Delete the prepared pixels of a finished run: they are large and not needed any more."""
    shutil.rmtree(run / PIXELS_FOLDER, ignore_errors=True)


def make_embedder(
    scorer: LoadedScorer, device: torch.device, precision: Precision, *, compile_towers: bool = False
) -> BatchEmbedder:
    """Return the function that embeds batches with a scorer's towers."""
    images, texts = scorer.model.encode_images, scorer.model.encode_texts
    if compile_towers:
        images, texts = compile_function(images), compile_function(texts)
    return BatchEmbedder(images, texts, scorer.card.norm, device=device, dtype=DTYPES[precision])


def _load_starting_scorer(config: TrainingConfig, *, rehearsal: bool) -> LoadedScorer:
    """Return the starting model; its card, which saved models copy, records the training settings."""
    loaded = load_starting_model(
        config.model,
        region_mode=config.region_mode,
        text_mode=config.text_mode,
        crop=config.crop,
        seed=config.seed,
    )
    made = {**loaded.card.made, **describe_training(config, rehearsal=rehearsal)}
    return replace(loaded, card=replace(loaded.card, made=made))
