"""What a chooser offers to those who measure it. No torch."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from curation.chooser.questions import ChoiceQuestion


class Chooser(Protocol):
    """Scores the four responses of each question."""

    name: str

    def score(self, questions: Sequence[ChoiceQuestion]) -> NDArray[np.float64]:
        """Return (n, 4) logits: the higher, the better; their softmax over the four are probabilities."""
        ...
