"""The log of a chooser's training: the columns of its two CSV files. No torch, since pages read them."""

from pathlib import Path
from typing import TypedDict

from curation.scorer.training.journal import LOSSES_FILE, VALIDATIONS_FILE, LogTable


class ChoiceLossRow(TypedDict):
    """One update. step and epoch count from 1; learning_rate: of this update.

    loss: of the responses and, weighted, of the objects' classes. class_loss: of the latter, unweighted; 0 if no
    classes are predicted. questions_per_second: over all processes, of wall time; not reproducible.
    """

    step: int
    epoch: int
    loss: float
    class_loss: float
    learning_rate: float
    questions_per_second: float


class ChoiceValidationRow(TypedDict):
    """One validation after ``step`` updates: loss of the responses, and accuracy in percent; None without questions.

    kept: whether the model was saved as the best.
    """

    step: int
    loss: float | None
    accuracy: float | None
    kept: bool


LOSSES = LogTable(LOSSES_FILE, ChoiceLossRow)
VALIDATIONS = LogTable(VALIDATIONS_FILE, ChoiceValidationRow)


def read_losses(folder: Path) -> list[ChoiceLossRow]:
    """Return the updates of a stage so far; none if nothing was written yet."""
    return LOSSES.read(folder)


def read_validations(folder: Path) -> list[ChoiceValidationRow]:
    """Return the validations of a stage so far; none if nothing was written yet."""
    return VALIDATIONS.read(folder)
