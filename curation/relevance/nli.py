"""P_sim by a model of natural-language inference (Zellers et al. 2019 §4, equation 3)."""

from pathlib import Path

import numpy as np

from curation.features.encoder import EncoderUnavailable
from curation.features.sentence_pairs import SentencePairClassifier
from curation.features.weights import folder_revision
from curation.relevance.interfaces import Indices, ModelUnavailable, Probabilities, Texts, all_pairs
from curation.relevance.names import NLI_PREFIX


class NliSimilarity:
    """The probability that one response entails the other: the greater one of both orders.

    Args:
        folder: a transformers sequence classifier with a label "entailment", and its tokenizer.

    Raises:
        ModelUnavailable: the folder, its weights or the label are missing.
    """

    needs_pairs = True
    stand_in = ""

    def __init__(self, folder: Path) -> None:
        try:
            self._model = SentencePairClassifier(folder, "similarity")
            self._label = self._model.label_index("entailment", "entail")
        except EncoderUnavailable as error:
            raise ModelUnavailable(str(error)) from error
        self.name = f"{NLI_PREFIX}{folder.name}"
        self.revision = folder_revision(folder)

    def block(self, responses: Texts, others: Texts) -> Probabilities:
        """Return (a, b) probabilities; each pair is classified in both orders."""
        shape = (len(responses), len(others))
        return self.pairs(responses, others, *all_pairs(*shape)).reshape(shape)

    def pairs(self, responses: Texts, others: Texts, rows: Indices, columns: Indices) -> Probabilities:
        """Return (m,) probabilities; equal texts have 1."""
        texts = [(responses.texts[a], others.texts[b]) for a, b in zip(rows, columns, strict=True)]
        distinct = list(dict.fromkeys((min(pair), max(pair)) for pair in texts if pair[0] != pair[1]))
        both = [*distinct, *((b, a) for a, b in distinct)]
        found = self._model.probabilities(both, self._label).reshape(2, len(distinct)).max(axis=0)
        by_pair = dict(zip(distinct, found, strict=True))
        values = [1.0 if a == b else by_pair[min(a, b), max(a, b)] for a, b in texts]
        return np.array(values, dtype=np.float32)
