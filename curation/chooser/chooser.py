"""Choosers at inference: scores of questions, and predictions for a file of questions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from curation.chooser.config import FEATURES_FOLDER, ChooserConfig, ModelKind
from curation.chooser.interface import Chooser
from curation.chooser.model.build import InputSources, LoadedChooser, load_chooser, zero_shot_clip
from curation.chooser.questions import ChoiceQuestion, ImageItem
from curation.chooser.token_losses import ChooserTokenLosses
from curation.chooser.training.validate import score_questions
from curation.evaluation.choice_files import format_predictions_csv
from curation.evaluation.choice_items import CHOICES, Stage, stage_question
from curation.evaluation.choices import ChoicePredictions
from curation.evaluation.perturb import mask_items, parse_masking, perturb_items
from curation.features.clip import choose_device
from curation.files import write_text
from curation.scorer.training.resumable_run import BEST_FOLDER

ZERO_SHOT_PREFIX = "zero-shot:"


class ModelChooser:
    """A loaded model as a chooser. name: for tables."""

    def __init__(self, loaded: LoadedChooser, *, name: str = "", device: str = "") -> None:
        self.card, self.sha256 = loaded.card, loaded.sha256
        self.name = name or loaded.card.kind.value
        self._model, self._device = loaded.model, choose_device(device)

    def score(self, questions: Sequence[ChoiceQuestion]) -> NDArray[np.float64]:
        """Return (n, 4) logits.

        Raises:
            InvalidInput: an image, its metadata or a stored vector is missing.
        """
        return score_questions(self._model, questions, self._device)


def open_chooser(source: str, sources: InputSources, *, name: str = "", device: str = "") -> ModelChooser:
    """Return a trained chooser of a folder, or ``zero-shot:clip:<hub id or folder>``.

    Raises:
        InvalidInput: the folder is not a complete chooser, or weights are not available.
    """
    if source.startswith(ZERO_SHOT_PREFIX):
        loaded = zero_shot_clip(source.removeprefix(ZERO_SHOT_PREFIX), sources, device=device)
        return ModelChooser(loaded, name=name or source, device=device)
    return ModelChooser(load_chooser(Path(source), sources, device=device), name=name, device=device)


def open_run(run: Path, config: ChooserConfig, images: Path) -> tuple[ModelChooser, ModelChooser]:
    """Return the choosers of answers and of rationales that a run with these settings trained.

    Args:
        images: the image folder of the questions that they will score, with the published metadata.

    Raises:
        InvalidInput: a stage was not trained, or weights are not available.
    """
    sources = InputSources(images, run / FEATURES_FOLDER, config.text if config.kind is ModelKind.R2C else "")
    answers, rationales = (
        open_chooser(str(run / stage / BEST_FOLDER), sources, device=config.device) for stage in Stage
    )
    return answers, rationales


def predict_choices(
    answers: Chooser, rationales: Chooser, items: Sequence[ImageItem]
) -> tuple[list[str], ChoicePredictions]:
    """Return the ids of n questions, and the predictions of both stages.

    Rationales are scored given each of the four answers, so labels are not needed.

    Raises:
        InvalidInput: a question lacks a stage, or an image is missing.
    """
    ids = [found.item.annot_id for found in items]
    blocks = [
        rationales.score([found.question(Stage.RATIONALE, conditioned_on=answer) for found in items])
        for answer in range(CHOICES)
    ]
    scores = answers.score([found.question(Stage.ANSWER) for found in items])
    return ids, ChoicePredictions(scores, np.stack(blocks, axis=1))


def perturb_with_choosers(
    answers: Chooser, rationales: Chooser, items: Sequence[ImageItem], name: str
) -> list[ImageItem]:
    """Return changed copies of the questions to which a perturbation applies; they keep their ids and images.

    Args:
        name: ``singular``, ``plural``, or ``mask-top1`` or ``keep-top3`` and the like, for which the choosers tell
            which words matter (``token_losses``).

    Raises:
        InvalidInput: the name is not known.
    """
    masking = parse_masking(name)
    plain = [found.item for found in items]
    if masking is None:
        changed = perturb_items(plain, name)
    else:
        labelled = [
            found.question(stage)
            for found in items
            for stage in Stage
            if stage_question(found.item, stage) is not None
        ]
        changed = mask_items(plain, ChooserTokenLosses(answers, rationales, labelled), masking)
    sources = {found.item.annot_id: found for found in items}
    return [replace(sources[item.annot_id], item=item) for item in changed]


def write_predictions(path: Path, ids: Sequence[str], predictions: ChoicePredictions) -> None:
    """Write a CSV of the published leaderboard.

    Raises:
        InvalidInput: the folder cannot be written to.
    """
    write_text(path, format_predictions_csv(ids, predictions))
