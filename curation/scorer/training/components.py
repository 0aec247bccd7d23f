"""The parts of one training run, put together from its folder: model, batches, objective, loop, what is written."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from curation.features.clip import DTYPES, resolve_precision
from curation.features.encoder import Precision
from curation.files import file_sha256, write_text
from curation.records import InvalidInput
from curation.scorer.config import TrainingConfig
from curation.scorer.model.folder import CARD, LoadedScorer, save_scorer
from curation.scorer.training.batches import Batches, Embedding, Plan, training_tokens, validation_tokens
from curation.scorer.training.checkpoint import Checkpoint, save_checkpoint
from curation.scorer.training.compiling import compiled
from curation.scorer.training.contrastive import Contrastive
from curation.scorer.training.distributed import World
from curation.scorer.training.environment import environment, without_paths, write_environment
from curation.scorer.training.inputs import Inputs
from curation.scorer.training.journal import Journal, LossRow, ValidationRow, read_validations
from curation.scorer.training.loop import Loop, Outcome, Standing, Update
from curation.scorer.training.pixels import Look, PreparedPixels, open_prepared, prepare
from curation.scorer.training.schedule import Schedule
from curation.scorer.training.starting_weights import starting_point
from curation.scorer.training.validate import Validation, Validator

BEST, DONE, PIXELS = "best", "done.json", "pixels"
FORMAT = "deerstalker-trained/1"
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a run came to. The measures are those of the model that was kept, ``None`` without pairs to validate.

    steps: updates done. stopped: ``steps`` when all were, ``patience`` when validations grew no better.
    weights_sha256: of the kept scorer's card, which has those of its files.
    """

    steps: int
    best_step: int
    loss: float | None
    im2txt: float | None
    txt2im: float | None
    p_at_1: float | None
    stopped: str
    weights_sha256: str


class Training:
    """The parts of one run in this process."""

    def __init__(self, run: Path, inputs: Inputs, world: World, device: torch.device) -> None:
        self.run, self.inputs, self.config, self.world, self.device = (
            run,
            inputs,
            inputs.config,
            world,
            device,
        )
        self.scorer = _start(inputs.config, rehearsal=inputs.rehearsal)
        self.model = self.scorer.model.to(device).train()
        self.precision = resolve_precision(self.config.precision, device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=self.config.learning_rate,
            weight_decay=self.config.weight_decay,
            fused=device.type == "cuda",
        )
        self.rates = Schedule(
            self.config.learning_rate, self.config.warmup_steps, self.config.reduce_on_plateau
        )
        self.plan = Plan(len(inputs.train), self.config.batch_size, self.config.seed)
        self.journal = Journal(run)

    def to_the_end(self, checkpoint: Checkpoint | None, tell: Told) -> None:
        """Prepare, train, and write what it came to. ``tell`` is called in the process that writes."""
        standing = self._restored(checkpoint)
        if self.world.writes:
            self._write_environment(standing.step)
            self.journal.start_after(standing.step)
        train_pixels, val_pixels = self._pixels(lambda: tell(standing.step, self.inputs.steps))
        with closing(self._batches(train_pixels)) as batches:
            loop = self._loop(batches, val_pixels, tell if self.world.writes else lambda *_: None)
            standing = loop.run(standing)
        if self.world.writes:
            self._write_done(standing)
            remove_pixels(self.run)
        self.world.wait()

    def _restored(self, checkpoint: Checkpoint | None) -> Standing:
        if checkpoint is None:
            self.world.copy_from_first(self.model.state_dict().values())
            return Standing()
        checkpoint.restore(self.model, self.optimizer)
        state = checkpoint.state
        self.rates.best, self.rates.cuts = state["rates"]["best"], state["rates"]["cuts"]
        return Standing(**{**state["standing"], "best": tuple(state["standing"]["best"])})

    def _write_environment(self, step: int) -> None:
        found = environment(
            self.config, precision=self.precision, device=self.device, world=self.world, step=step
        )
        write_environment(self.run, found)

    def _pixels(self, alive: Callable[[], None]) -> tuple[PreparedPixels, PreparedPixels]:
        look = Look(self.config.region_mode, self.config.crop, self.scorer.card.norm)
        parts = {"train": self.inputs.train, "val": self.inputs.val}
        folder = self.run / PIXELS
        if self.world.writes:
            for part, pairs in parts.items():
                prepare(pairs, self.inputs.images, look, folder, part=part, tell=lambda *_: alive())
        self.world.wait()
        train_pixels, val_pixels = (
            open_prepared(pairs, look, folder, part=part) for part, pairs in parts.items()
        )
        return train_pixels, val_pixels

    def _batches(self, pixels: PreparedPixels) -> Batches:
        return Batches(
            pixels,
            training_tokens(self.inputs.train, self.scorer),
            self.plan,
            world=self.world,
            device=self.device,
            grayscale=self.config.grayscale if self.config.augment else None,
        )

    def _loop(self, batches: Batches, val_pixels: PreparedPixels, tell: Told) -> Loop:
        config = self.config
        embed = embedding(self.scorer, self.device, self.precision, compile_towers=config.compile)
        objective = Contrastive(
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
        return Loop(
            objective=objective,
            optimizer=self.optimizer,
            rates=self.rates,
            validate=lambda step: self.world.everyones(validate(step))[0],
            keep=self._keep,
            save=self._save,
            record=self._record,
            report=self._report,
            tell=tell,
            steps=self.inputs.steps,
            every=config.checkpoint_every,
            patience=config.patience,
        )

    def _keep(self) -> None:
        if self.world.writes:
            save_scorer(self.run / BEST, self.scorer)

    def _save(self, standing: Standing) -> None:
        if not self.world.writes:
            return
        self.journal.sync()
        rates = {"best": self.rates.best, "cuts": self.rates.cuts}
        save_checkpoint(
            self.run,
            self.model,
            self.optimizer,
            inputs=self.inputs.sha256,
            state={"standing": asdict(standing), "rates": rates},
        )

    def _record(self, update: Update) -> None:
        if not self.world.writes:
            return
        row = LossRow(
            step=update.step,
            epoch=self.plan.epoch(update.step - 1) + 1,
            loss=update.loss,
            learning_rate=update.rate,
            scale=float(self.model.scale().detach()),
            images_per_second=round(self.config.batch_size / update.seconds, 2),
        )
        self.journal.updated(row)

    def _report(self, step: int, outcome: Outcome, kept: bool) -> None:
        if self.world.writes:
            assert isinstance(outcome, Validation)
            row = ValidationRow(
                step=step,
                loss=outcome.loss,
                im2txt=outcome.im2txt,
                txt2im=outcome.txt2im,
                p_at_1=outcome.p_at_1,
                kept=kept,
            )
            self.journal.validated(row)

    def _write_done(self, standing: Standing) -> None:
        rows = read_validations(self.run)
        kept = next((row for row in rows if row["step"] == standing.best_step), None)
        if kept is None or not (self.run / BEST / CARD).is_file():
            raise InvalidInput(
                f"{self.run}: the scorer of step {standing.best_step} or its validation is gone; "
                f"delete checkpoint/ and {BEST}/ to train from the start"
            )
        result = TrainingResult(
            steps=standing.step,
            best_step=standing.best_step,
            loss=kept["loss"],
            im2txt=kept["im2txt"],
            txt2im=kept["txt2im"],
            p_at_1=kept["p_at_1"],
            stopped="steps" if standing.step == self.inputs.steps else "patience",
            weights_sha256=file_sha256(self.run / BEST / CARD),
        )
        write_text(self.run / DONE, [json.dumps({"format": FORMAT, **asdict(result)}, indent=1) + "\n"])


def remove_pixels(run: Path) -> None:
    """Remove the prepared pixels of a run that is done: nobody needs them, and they are large."""
    shutil.rmtree(run / PIXELS, ignore_errors=True)


def embedding(
    scorer: LoadedScorer, device: torch.device, precision: Precision, *, compile_towers: bool = False
) -> Embedding:
    """Return what embeds batches with a scorer's towers."""
    images, texts = scorer.model.encode_images, scorer.model.encode_texts
    if compile_towers:
        images, texts = compiled(images), compiled(texts)
    return Embedding(images, texts, scorer.card.norm, device=device, dtype=DTYPES[precision])


def _start(config: TrainingConfig, *, rehearsal: bool) -> LoadedScorer:
    """Return the model that training starts from; its card says what it is trained with, wherever it goes."""
    loaded = starting_point(
        config.model,
        region_mode=config.region_mode,
        text_mode=config.text_mode,
        crop=config.crop,
        seed=config.seed,
    )
    made = {**loaded.card.made, "training": without_paths(config.as_json())}
    if rehearsal:
        made["rehearsal"] = True
    return replace(loaded, card=replace(loaded.card, made=made))
