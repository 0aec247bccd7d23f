"""What every kind of chooser offers: batches from questions, and four logits for each question."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from curation.chooser.questions import ChoiceQuestion

ProgressCallback = Callable[[int, int], None]
Shares = NDArray[np.float64]
"""(n, 2) shares of each image's padding that are on the left and at the top; see ``frames.make_frame``."""


class DeviceBatch(Protocol):
    """Questions as tensors."""

    def to(self, device: torch.device) -> "DeviceBatch":
        """Return the same questions on a device."""
        ...


@dataclass(frozen=True, slots=True)
class InputFacts:
    """How many texts a model reads, each of a query and a response, and how many of them are too long and are cut."""

    texts: int
    cut_texts: int


Batch = TypeVar("Batch", bound=DeviceBatch)


@dataclass(frozen=True, slots=True)
class ChoiceScores:
    """The scores of n questions. logits: (n, 4) of the responses.

    class_logits, classes: (m, classes) predictions and the (m,) classes of objects; None if nothing is predicted.
    """

    logits: Tensor
    class_logits: Tensor | None = None
    classes: Tensor | None = None


class ChoiceModel(ABC, Generic[Batch]):
    """A chooser's model with everything that turns questions into its inputs.

    module: the weights that are saved; frozen encoders that only prepare inputs are not part of it. tokenizer_json:
    the content of the tokenizer's file; empty if there is none.
    """

    module: nn.Module
    tokenizer_json = ""

    @abstractmethod
    def collate(self, questions: Sequence[ChoiceQuestion], shares: Shares | None = None) -> Batch:
        """Return questions as tensors on the CPU. Thread-safe.

        Args:
            shares: where images are placed in training; None is the middle.
        """

    @abstractmethod
    def forward(self, batch: Batch) -> ChoiceScores:
        """Return the scores of a batch on the module's device, with their graph."""

    @abstractmethod
    def card(self) -> dict[str, Any]:
        """Return plain values from which the model is built again, given its weights."""

    @abstractmethod
    def prepare(
        self,
        questions: Sequence[ChoiceQuestion],
        folder: Path,
        *,
        is_writer: bool,
        wait: Callable[[], None],
        report_progress: ProgressCallback,
    ) -> InputFacts:
        """Compute inputs that every epoch needs, once, in ``folder``; later calls use what is there.

        Args:
            is_writer: whether this process writes; the others use its files after ``wait``.
            report_progress: called in between; may raise to stop.
        """

    def count_objects(self, questions: Sequence[ChoiceQuestion]) -> int:
        """Return the number of objects whose classes are predicted."""
        return 0
