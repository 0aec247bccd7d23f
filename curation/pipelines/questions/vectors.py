"""Sentence vectors of the texts of a question set, computed once for a project's triplets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from curation.features.encoder import EncoderUnavailable
from curation.features.sentence import PACKAGE, SentenceEncoder
from curation.features.shards import ShardedVectors, open_features
from curation.features.weights import package_revision
from curation.models import Subject
from curation.pipelines.vectors import (
    VectorOrigin,
    find_feature_set,
    get_or_make_vectors,
    make_feature_spec,
)
from curation.services.refusals import refuse_invalid_input
from hits.domain.hashing import content_sha256
from hits.models import Project
from hits.services.errors import Refused

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Where the vectors of one text of all triplets are: folder below the media folder, and the manifest's hash."""

    path: str
    sha256: str

    def open(self) -> ShardedVectors:
        """Return the rows, which are read on demand.

        Raises:
            Refused: the files are missing or changed.
        """
        with refuse_invalid_input():
            return open_features(
                Path(settings.MEDIA_ROOT) / self.path, manifest_sha256=self.sha256, verify=False
            )


def sentence_origin() -> VectorOrigin:
    """Return the origin of the vectors; this does not load the model."""
    return VectorOrigin(
        SentenceEncoder.name, package_revision(PACKAGE), Subject.TEXTS, SentenceEncoder.preprocessing
    )


def store_vectors(
    project: Project, texts: Sequence[str], ids: Sequence[str], step: Callable[[int], None]
) -> StoredVectors:
    """Return the stored vectors of n texts, made where they are missing.

    Args:
        ids: of the texts, in the order of the rows. step: gets the number of texts of each finished batch.

    Raises:
        Refused: the model is not installed, or files cannot be written.
    """
    origin = sentence_origin()
    get_or_make_vectors(
        project=project,
        origin=origin,
        items=texts,
        ids=ids,
        fingerprints=texts,
        encode=lambda batch: load_sentence_encoder().encode_texts(batch),
        step=step,
    )
    spec = make_feature_spec(origin, [content_sha256(text) for text in texts])
    row = find_feature_set(project, spec)
    assert row is not None, "the vectors were just made"
    return StoredVectors(row.path, row.sha256)


@lru_cache(maxsize=1)
def load_sentence_encoder() -> Any:
    """Return the sentence encoder; a process loads it once. Raises Refused if it is not installed."""
    try:
        return SentenceEncoder()
    except EncoderUnavailable as error:
        raise Refused(str(error)) from error


def as_json(stored: Mapping[str, StoredVectors]) -> dict[str, dict[str, str]]:
    """Return stored vectors by text as plain JSON."""
    return {text: {"path": item.path, "sha256": item.sha256} for text, item in stored.items()}


def from_json(raw: Mapping[str, Mapping[str, str]]) -> dict[str, StoredVectors]:
    """Return stored vectors by text from plain JSON."""
    return {text: StoredVectors(item["path"], item["sha256"]) for text, item in raw.items()}
