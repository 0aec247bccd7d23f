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

from curation.chooser.config import ChooserConfig, ModelKind
from curation.chooser.questions import ChoiceQuestion, read_questions
from curation.evaluation.choice_items import Stage
from curation.features.shards import MANIFEST_FILE
from curation.files import write_text
from curation.records import InvalidInput
from curation.scorer.training.inputs import RUN_FILE, TRAIN_FILE, VAL_FILE

FORMAT = "deerstalker-choices/1"
FEATURES_FOLDER = "features"
STORED_VECTORS = "features"  # the value of the setting visual


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
    def steps_per_epoch(self) -> int:
        """Updates per pass over the questions. Only full batches count; the remaining ones differ by epoch."""
        return len(self.train) // self.config.batch_size

    @property
    def total_steps(self) -> int:
        """Updates of the whole stage, without early stopping."""
        steps = self.config.epochs * self.steps_per_epoch
        return min(steps, self.config.max_steps) if self.config.max_steps else steps

    @property
    def validate_every(self) -> int:
        """Steps between validations."""
        return self.config.checkpoint_every or self.steps_per_epoch


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
    settings = {
        "format": FORMAT,
        "config": config.as_json(),
        "images": str(images.absolute()),
        "provenance": dict(provenance or {}),
    }
    write_text(run / RUN_FILE, [json.dumps(settings, indent=1, sort_keys=True)])
    return run


def question_line(raw: Mapping[str, Any]) -> str:
    """Return a question in the published layout as a line of a file, with its line end."""
    return json.dumps(raw, ensure_ascii=False) + "\n"


def read_config(run: Path) -> ChooserConfig:
    """Return a run's settings.

    Raises:
        InvalidInput: the file is missing or broken.
    """
    return ChooserConfig.from_json(_read_settings(run)["config"])


def read_image_folder(run: Path) -> Path:
    """Return the folder of a run's images.

    Raises:
        InvalidInput: the settings are missing or broken.
    """
    return Path(_read_settings(run)["images"])


def read_inputs(run: Path, stage: Stage) -> StageInputs:
    """Read one stage of a run's folder.

    Raises:
        InvalidInput: a file is missing or broken, a label is missing, there are fewer questions than a batch, or an
            image is missing.
    """
    raw = _read_settings(run)
    config = ChooserConfig.from_json(raw["config"])
    inputs = StageInputs(
        config=config,
        stage=stage,
        images=Path(raw["images"]),
        features=run / FEATURES_FOLDER,
        train=tuple(read_questions(run / TRAIN_FILE, stage)),
        val=tuple(read_questions(run / VAL_FILE, stage)) if (run / VAL_FILE).is_file() else (),
        sha256=_inputs_sha256(config, run, stage),
        rehearsal=isinstance(raw.get("provenance"), dict) and bool(raw["provenance"].get("rehearsal")),
    )
    _check_labels(inputs)
    _check_ids(inputs)
    _check_batch(inputs)
    if config.kind in {ModelKind.CLIP_CHOICE, ModelKind.R2C} and config.visual != STORED_VECTORS:
        _check_images(inputs)
    return inputs


def _read_settings(run: Path) -> dict[str, Any]:
    path = run / RUN_FILE
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: cannot be read; give the folder of a chooser's run") from error
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InvalidInput(f"{path}: is not of the format {FORMAT}; create the run again")
    if not isinstance(raw.get("config"), dict) or not isinstance(raw.get("images"), str):
        raise InvalidInput(f"{path}: lacks config or images; create the run again")
    return raw


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
