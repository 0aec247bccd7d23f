"""Validation of choosers: the loss and the accuracy over all questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from curation.chooser.model.choice_model import ChoiceModel
from curation.chooser.questions import ChoiceQuestion
from curation.scorer.training.distributed import World

BATCH_SIZE = 64  # questions of one forward pass
PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class Validation:
    """Mean cross-entropy, and accuracy in percent. None without questions."""

    loss: float | None = None
    accuracy: float | None = None

    @property
    def quality(self) -> tuple[float, ...]:
        """The accuracy; empty without questions. The first of equally good models is kept, as published."""
        return () if self.accuracy is None else (self.accuracy,)


def score_questions(
    model: ChoiceModel[Any], questions: Sequence[ChoiceQuestion], device: torch.device
) -> NDArray[np.float64]:
    """Return the (n, 4) logits of questions; the model is in evaluation mode afterwards as before."""
    was_training = model.module.training
    model.module.eval()
    rows = []
    try:
        with torch.inference_mode():
            for start in range(0, len(questions), BATCH_SIZE):
                batch = model.collate(questions[start : start + BATCH_SIZE])
                rows.append(model.forward(batch.to(device)).logits.double().cpu().numpy())
    finally:
        model.module.train(was_training)
    return np.concatenate(rows) if rows else np.zeros((0, 4))


@dataclass(frozen=True, slots=True)
class Validator:
    """Validates a model; every process scores its share."""

    model: ChoiceModel[Any]
    questions: Sequence[ChoiceQuestion]
    world: World
    device: torch.device

    def __call__(self, step: int) -> Validation:
        """Validate; without questions the result is empty."""
        if not self.questions:
            return Validation()
        own = self.questions[self.world.own_slice(len(self.questions))]
        scores = np.concatenate(self.world.gather_objects(score_questions(self.model, own, self.device)))
        labels = np.array([question.label for question in self.questions])
        return measure_choices(scores, labels)


def measure_choices(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> Validation:
    """Return the measures of (n, 4) logits; of equal highest ones the first is chosen."""
    loss = F.cross_entropy(torch.from_numpy(scores), torch.from_numpy(labels))
    return Validation(float(loss), PERCENT * float((scores.argmax(axis=1) == labels).mean()))
