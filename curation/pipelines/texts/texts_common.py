"""What the analyses of texts share: sentence vectors of different texts, and what a result rests on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from curation.models import Subject
from curation.pipelines.encoders import preprocessing_of
from curation.pipelines.vectors import Maker, Steps, vectors_of
from curation.selectors.texts import TextPair
from hits.domain.hashing import content_sha256
from hits.models import Project
from hits.services.jobs.jobs import Progress


class SentenceTexts(Protocol):
    """Sentence vectors of texts."""

    name: str
    revision: str

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n texts."""
        ...


def sentence_encoder() -> SentenceTexts:
    """Return all-MiniLM-L6-v2, which the papers use for sentences (paper 001 E); its library is loaded now."""
    from curation.features.sentence import SentenceEncoder

    return SentenceEncoder()


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors of the different texts among n: ``rows`` (u, d), and ``places`` (n,), the row of each text."""

    rows: NDArray[np.float32]
    places: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sentences:
    """Makes sentence vectors for a project, each different text once."""

    project: Project
    encoder: SentenceTexts
    progress: Progress | None = None

    def of(self, texts: Sequence[str], *, ids: Sequence[str], stages: int = 1) -> Encoded:
        """Return the vectors of n texts; those of an earlier run are taken from their file.

        Args:
            ids: what each text is called, for a pair's text its published id; of equal texts the first one's stands.
            stages: of the work, of which this is the first.

        Raises:
            Cancelled: somebody asked the job to stop.
        """
        called: dict[str, str] = {}
        for text, name in zip(texts, ids, strict=True):
            called.setdefault(text, name)
        rows = {text: row for row, text in enumerate(called)}
        places = np.array([rows[text] for text in texts], dtype=np.int64)
        different = list(called)
        if self.progress is not None:
            self.progress.log(
                f"{len(different)} different texts of {len(texts)}; vectors: {self.encoder.name}"
            )
        vectors = vectors_of(
            project=self.project,
            maker=Maker(
                self.encoder.name,
                self.encoder.revision,
                Subject.TEXTS,
                preprocessing=preprocessing_of(self.encoder),
            ),
            items=different,
            ids=list(called.values()),
            fingerprints=different,
            encode=self.encoder.encode_texts,
            step=Steps(stages * len(different), self.progress),
        )
        return Encoded(vectors, places)

    def second_stage(self, first: int) -> Callable[[int, int], None]:
        """Return what a second stage tells how far it is; ``first`` is what the first stage counted to."""

        def tell(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress.advance(first + round(first * done / max(1, total)), total=2 * first)

        return tell

    @property
    def provenance(self) -> dict[str, str]:
        """The model by name and revision."""
        return {"sentence_encoder": self.encoder.name, "sentence_revision": self.encoder.revision}


def origin(pairs: Sequence[TextPair], **models: str) -> dict[str, Any]:
    """Return what a result rests on: the pairs by their hash, and what else looked at them."""
    return {"pairs_sha256": content_sha256([pair.instance_id for pair in pairs]), **models}


def installed(package: str) -> str:
    """Return a package's version, or nothing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
