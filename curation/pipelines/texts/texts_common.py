"""Shared code of the text analyses: sentence vectors of distinct texts, and the provenance of results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.models import Subject
from curation.pipelines.vectors import StepCounter, encoder_origin, get_or_make_vectors
from curation.selectors.texts import TextPair
from hits.domain.hashing import content_sha256
from hits.models import Project
from hits.services.jobs.jobs import Progress


class TextEncoder(Protocol):
    """Encodes texts as sentence vectors."""

    name: str
    revision: str

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n texts."""
        ...


def sentence_encoder() -> TextEncoder:
    """Load all-MiniLM-L6-v2, the paper's sentence encoder (Hessel et al. 2022, appendix E)."""
    from curation.features.sentence import SentenceEncoder

    return SentenceEncoder()


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Vectors of the distinct texts among n: ``rows`` (u, d), and ``row_indices`` (n,), the row of each text."""

    rows: NDArray[np.float32]
    row_indices: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SentenceVectorMaker:
    """Makes sentence vectors for a project, each distinct text once."""

    project: Project
    encoder: TextEncoder
    progress: Progress | None = None

    def encode(self, texts: Sequence[str], *, ids: Sequence[str], stages: int = 1) -> EncodedTexts:
        """Return the vectors of n texts, cached if possible.

        Args:
            ids: the id of each text, such as a pair's published id; equal texts get the first one's id.
            stages: number of stages of the job's progress; encoding is the first.

        Raises:
            Cancelled: the job was cancelled.
        """
        ids_by_text: dict[str, str] = {}
        for text, name in zip(texts, ids, strict=True):
            ids_by_text.setdefault(text, name)
        rows = {text: row for row, text in enumerate(ids_by_text)}
        row_indices = np.array([rows[text] for text in texts], dtype=np.int64)
        distinct = list(ids_by_text)
        if self.progress is not None:
            self.progress.log(f"{len(distinct)} distinct texts of {len(texts)}; vectors: {self.encoder.name}")
        vectors = get_or_make_vectors(
            project=self.project,
            origin=encoder_origin(self.encoder, Subject.TEXTS),
            items=distinct,
            ids=list(ids_by_text.values()),
            fingerprints=distinct,
            encode=self.encoder.encode_texts,
            step=StepCounter(stages * len(distinct), self.progress),
        )
        return EncodedTexts(vectors, row_indices)

    def second_stage_progress(self, first_total: int) -> Callable[[int, int], None]:
        """Return the progress callback of a second stage; ``first_total`` is the total of the first stage."""

        def report_progress(done: int, total: int) -> None:
            if self.progress is not None:
                position = first_total + round(first_total * done / max(1, total))
                self.progress.advance(position, total=2 * first_total)

        return report_progress

    @property
    def provenance(self) -> dict[str, str]:
        """The encoder's name and revision."""
        return {"sentence_encoder": self.encoder.name, "sentence_revision": self.encoder.revision}


def make_provenance(pairs: Sequence[TextPair], **models: str) -> dict[str, Any]:
    """Return a result's provenance: the hash of the pairs, and the models."""
    return {"pairs_sha256": content_sha256([pair.instance_id for pair in pairs]), **models}
