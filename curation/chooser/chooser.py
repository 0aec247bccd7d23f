"""Choosers at inference: scores of questions, and predictions for a file of questions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from curation.chooser.model.build import InputSources, LoadedChooser, load_chooser, zero_shot_clip
from curation.chooser.questions import ChoiceQuestion, read_questions
from curation.chooser.training.validate import score_questions
from curation.evaluation.choice_files import format_predictions_csv
from curation.evaluation.choice_items import CHOICES, Stage
from curation.evaluation.choices import ChoicePredictions
from curation.features.clip import choose_device
from curation.files import write_text

ZERO_SHOT_PREFIX = "zero-shot:"


class Chooser(Protocol):
    """Scores the four responses of each question."""

    name: str

    def score(self, questions: Sequence[ChoiceQuestion]) -> NDArray[np.float64]:
        """Return (n, 4) logits: the higher, the better; their softmax over the four are probabilities."""
        ...


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


def predict_choices(answers: Chooser, rationales: Chooser, path: Path) -> tuple[list[str], ChoicePredictions]:
    """Return the ids of a file's questions, and the predictions of both stages.

    Rationales are scored given each of the four answers, so labels are not needed.

    Raises:
        InvalidInput: a line is not a question, or an image is missing.
    """
    questions = read_questions(path, Stage.ANSWER)
    blocks = [
        rationales.score(read_questions(path, Stage.RATIONALE, conditioned_on=answer))
        for answer in range(CHOICES)
    ]
    ids = [question.annot_id for question in questions]
    return ids, ChoicePredictions(answers.score(questions), np.stack(blocks, axis=1))


def write_predictions(path: Path, ids: Sequence[str], predictions: ChoicePredictions) -> None:
    """Write a CSV of the published leaderboard.

    Raises:
        InvalidInput: the folder cannot be written to.
    """
    write_text(path, format_predictions_csv(ids, predictions))
