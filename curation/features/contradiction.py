"""Whether two sentences contradict each other, by a cross-encoder for natural-language inference."""

from collections.abc import Sequence
from pathlib import Path

from curation.features.sentence_pairs import SentencePairClassifier


class ContradictionClassifier:
    """A transformers sequence classifier from a local folder, with a label "contradiction". Nothing is downloaded."""

    def __init__(self, folder: Path) -> None:
        self._model = SentencePairClassifier(folder, "HINTS_NLI_MODEL")
        self._label_index = self._model.label_index("contradiction", "contradict")

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return each pair's probability of contradiction, 0 to 1: the mean over both orders of the pair."""
        both = [*pairs, *((b, a) for a, b in pairs)]
        found = self._model.probabilities(both, self._label_index)  # (2n,)
        return [float(mean) for mean in found.reshape(2, len(pairs)).mean(axis=0)]
