"""What the analyses of texts share: sentence vectors of different texts, and what a result rests on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.models import Subject
from curation.pipelines.encoders import get_preprocessing
from curation.pipelines.vectors import StepCounter, VectorOrigin, get_vectors
from curation.selectors.texts import TextPair
from hits.domain.hashing import content_sha256
from hits.models import Project
from hits.services.jobs.jobs import Progress


class TextEncoder(Protocol):
    """Sentence vectors of texts."""

    name: str
    revision: str

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n texts."""
        ...


def sentence_encoder() -> TextEncoder:
    """Return all-MiniLM-L6-v2, which the papers use for sentences (paper 001 E); its library is loaded now."""
    from curation.features.sentence import SentenceEncoder

    return SentenceEncoder()


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Vectors of the different texts among n: ``rows`` (u, d), and ``places`` (n,), the row of each text."""

    rows: NDArray[np.float32]
    row_indices: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SentenceVectors:
    """Makes sentence vectors for a project, each different text once."""

    project: Project
    encoder: TextEncoder
    progress: Progress | None = None

    def encode(self, texts: Sequence[str], *, ids: Sequence[str], stages: int = 1) -> EncodedTexts:
        """Return the vectors of n texts; those of an earlier run are taken from their file.

        Args:
            ids: what each text is called, for a pair's text its published id; of equal texts the first one's stands.
            stages: of the work, of which this is the first.

        Raises:
            Cancelled: somebody asked the job to stop.
        """
        ids_by_text: dict[str, str] = {}
        for text, name in zip(texts, ids, strict=True):
            ids_by_text.setdefault(text, name)
        rows = {text: row for row, text in enumerate(ids_by_text)}
        row_indices = np.array([rows[text] for text in texts], dtype=np.int64)
        distinct = list(ids_by_text)
        if self.progress is not None:
            self.progress.log(
                f"{len(distinct)} different texts of {len(texts)}; vectors: {self.encoder.name}"
            )
        vectors = get_vectors(
            project=self.project,
            origin=VectorOrigin(
                self.encoder.name,
                self.encoder.revision,
                Subject.TEXTS,
                preprocessing=get_preprocessing(self.encoder),
            ),
            items=distinct,
            ids=list(ids_by_text.values()),
            fingerprints=distinct,
            encode=self.encoder.encode_texts,
            step=StepCounter(stages * len(distinct), self.progress),
        )
        return EncodedTexts(vectors, row_indices)

    def second_stage_progress(self, first_total: int) -> Callable[[int, int], None]:
        """Return what a second stage tells how far it is; ``first`` is what the first stage counted to."""

        def report_progress(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress.advance(
                    first_total + round(first_total * done / max(1, total)), total=2 * first_total
                )

        return report_progress

    @property
    def provenance(self) -> dict[str, str]:
        """The model by name and revision."""
        return {"sentence_encoder": self.encoder.name, "sentence_revision": self.encoder.revision}


def make_provenance(pairs: Sequence[TextPair], **models: str) -> dict[str, Any]:
    """Return what a result rests on: the pairs by their hash, and what else looked at them."""
    return {"pairs_sha256": content_sha256([pair.instance_id for pair in pairs]), **models}


def package_version(package: str) -> str:
    """Return a package's version, or nothing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
