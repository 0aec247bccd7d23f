"""Write and read the inputs of a chooser's run: settings and questions. No torch.

    run.json       format, settings, the image folder, provenance
    train.jsonl    questions to train on, in the published layout
    val.jsonl      questions that select the best model; may be missing
    features/      stored vectors of objects, for R2C with visual=features (``model.object_vectors``)

A run has one folder for each stage that it trains, ``answer/`` and ``rationale/``, with the model in ``best/``.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curation.chooser.config import FEATURES_FOLDER, STORED_VECTORS, ChooserConfig, ModelKind
from curation.chooser.questions import ChoiceQuestion, read_questions
from curation.evaluation.choice_items import Stage, question_line
from curation.features.shards import MANIFEST_FILE
from curation.files import write_text
from curation.records import InvalidInput
from curation.scorer.training.inputs import TRAIN_FILE, VAL_FILE, RunSettings, read_settings, write_settings

FORMAT = "deerstalker-choices/1"


@dataclass(frozen=True, slots=True)
class StageInputs:
    """The inputs of one stage of a run.

    images: the image folder. features: the folder of stored vectors. sha256: of everything that determines the
    result, which excludes the image folder. rehearsal: whether the questions come from a rehearsal.
    """

    config: ChooserConfig
    stage: Stage
    images: Path
    features: Path
    train: tuple[ChoiceQuestion, ...]
    val: tuple[ChoiceQuestion, ...]
    sha256: str
    rehearsal: bool = False

    @property
    def total_steps(self) -> int:
        """Updates of the whole stage, without early stopping."""
        return self.config.count_steps(len(self.train))

    @property
    def validate_every(self) -> int:
        """Steps between validations: one pass over the questions, unless the settings have another number."""
        return self.config.checkpoint_every or len(self.train) // self.config.batch_size


def write_run(
    run: Path,
    config: ChooserConfig,
    *,
    images: Path,
    train: Iterable[Mapping[str, Any]],
    val: Iterable[Mapping[str, Any]] = (),
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write a run's folder for ``curation.chooser.train`` and return it. Settings are written last: they complete it.

    Args:
        images: the folder to which ``img_fn`` and ``metadata_fn`` are relative; files are read there, not copied.
        train, val: questions in the published layout.

    Raises:
        InvalidInput: the folder cannot be written to.
    """
    run.mkdir(parents=True, exist_ok=True)
    write_text(run / TRAIN_FILE, map(question_line, train))
    write_text(run / VAL_FILE, map(question_line, val))
    write_settings(run, config, images=images, provenance=provenance, layout=FORMAT)
    return run


def read_run_settings(run: Path) -> RunSettings:
    """Return the settings of a chooser's run.

    Raises:
        InvalidInput: the file is missing or broken.
    """
    return read_settings(run, layout=FORMAT, noun="chooser's")


def read_inputs(run: Path, stage: Stage) -> StageInputs:
    """Read one stage of a run's folder.

    Raises:
        InvalidInput: a file is missing or broken, a label is missing, there are fewer questions than a batch, or an
            image is missing.
    """
    settings = read_run_settings(run)
    config = ChooserConfig.from_json(settings.config)
    inputs = StageInputs(
        config=config,
        stage=stage,
        images=settings.images,
        features=run / FEATURES_FOLDER,
        train=tuple(read_questions(run / TRAIN_FILE, stage)),
        val=tuple(read_questions(run / VAL_FILE, stage)) if (run / VAL_FILE).is_file() else (),
        sha256=_inputs_sha256(config, run, stage),
        rehearsal=settings.rehearsal,
    )
    _check_labels(inputs)
    _check_ids(inputs)
    _check_batch(inputs)
    if config.kind in {ModelKind.CLIP_CHOICE, ModelKind.R2C} and config.visual != STORED_VECTORS:
        _check_images(inputs)
    return inputs


def _inputs_sha256(config: ChooserConfig, run: Path, stage: Stage) -> str:
    digest = hashlib.sha256(json.dumps([stage, config.as_json()], sort_keys=True).encode())
    for path in (run / TRAIN_FILE, run / VAL_FILE, run / FEATURES_FOLDER / MANIFEST_FILE):
        digest.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
    return digest.hexdigest()


def _check_labels(inputs: StageInputs) -> None:
    for name, questions in ((TRAIN_FILE, inputs.train), (VAL_FILE, inputs.val)):
        unlabelled = next((question for question in questions if question.label is None), None)
        if unlabelled is not None:
            raise InvalidInput(
                f"{name}: question {unlabelled.annot_id} has no {inputs.stage}_label; give questions with labels"
            )


def _check_ids(inputs: StageInputs) -> None:
    known = {question.annot_id for question in inputs.train}
    both = next((question.annot_id for question in inputs.val if question.annot_id in known), None)
    if both is not None:
        raise InvalidInput(f"{VAL_FILE}: question {both} is in {TRAIN_FILE} too; take it out of one of them")


def _check_batch(inputs: StageInputs) -> None:
    count, size = len(inputs.train), inputs.config.batch_size
    if not count:
        raise InvalidInput(f"{TRAIN_FILE}: contains no question; choose questions to train on")
    if count < size:
        largest = count - count % inputs.config.processes
        hint = f"use {largest} or fewer" if largest else "choose more questions"
        raise InvalidInput(f"batch_size: {size} is more than the {count} questions to train on; {hint}")


def _check_images(inputs: StageInputs) -> None:
    """Check all images before any work: a missing image would stop the training midway."""
    files: dict[str, str] = {}
    for question in (*inputs.train, *inputs.val):
        for name in filter(None, (question.image, question.metadata)):
            files.setdefault(name, question.annot_id)
    for name, annot_id in files.items():
        if not (inputs.images / name).is_file():
            raise InvalidInput(
                f"question {annot_id}: its file {name} is missing; restore it, or give --images"
            )
