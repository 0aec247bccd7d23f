"""Vectors of images, regions and texts, made once and kept in a file beside the media."""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.models import FeatureSet, Subject
from curation.services.features import FeatureFile, store_features
from hits.domain.hashing import content_sha256
from hits.models import Image, Project
from hits.services.errors import Refused
from hits.services.jobs import Progress

BATCH = 16
Item = TypeVar("Item")
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Maker:
    """Who makes the vectors: a name, what exactly (weights, mode), and what of."""

    encoder: str
    revision: str
    subject: Subject


def open_image(image: Image) -> Pillow.Image:
    """Return an image's pixels, RGB.

    Raises:
        Refused: the file is missing or cannot be read.
    """
    try:
        with image.file.open("rb") as file, Pillow.open(file) as picture:
            return picture.convert("RGB")
    except OSError as error:
        raise Refused(f"{image.name}: its file is missing or broken; restore {image.file.name}") from error


def vectors_of(
    *,
    project: Project,
    maker: Maker,
    items: Sequence[Item],
    fingerprints: Sequence[str],
    encode: Callable[[Sequence[Item]], NDArray[np.floating]],
    step: Callable[[int], None],
) -> Vectors:
    """Return one vector per item, (n, d) float32, from the file of an earlier run where there is one.

    Args:
        fingerprints: one per item; equal fingerprints mean equal vectors.
        encode: makes the vectors of a few items.
        step: told after each few how many items were done since; may raise to stop.
    """
    key = content_sha256([maker.encoder, maker.revision, maker.subject.value, list(fingerprints)])
    known = _load(project, maker, key)
    if known is not None and len(known) == len(items):
        step(len(items))
        return known
    parts = []
    for few in _batches(items):
        parts.append(np.asarray(encode(few), dtype=np.float32))
        step(len(few))
    vectors = np.concatenate(parts)
    _save(project, maker, key, vectors)
    return vectors


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _load(project: Project, maker: Maker, key: str) -> Vectors | None:
    row = FeatureSet.objects.filter(
        project=project,
        encoder=maker.encoder,
        revision=maker.revision,
        subject=maker.subject.value,
        items_sha256=key,
    ).first()
    if row is None:
        return None
    try:
        path = Path(settings.MEDIA_ROOT) / row.path
        if hashlib.sha256(path.read_bytes()).hexdigest() != row.sha256:
            return None  # a torn or replaced file is made again
        loaded: Vectors = np.load(path, allow_pickle=False)
        return loaded
    except (OSError, ValueError):
        return None


def _save(project: Project, maker: Maker, key: str, vectors: Vectors) -> None:
    relative = f"features/{key}.npy"
    path = Path(settings.MEDIA_ROOT) / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{uuid.uuid4().hex[:8]}.partial")
    with partial.open("wb") as file:
        np.save(file, vectors, allow_pickle=False)
    digest = hashlib.sha256(partial.read_bytes()).hexdigest()
    partial.replace(path)
    store_features(
        project=project,
        file=FeatureFile(
            encoder=maker.encoder,
            revision=maker.revision,
            subject=maker.subject,
            items_sha256=key,
            count=len(vectors),
            dim=int(vectors.shape[1]),
            path=relative,
            sha256=digest,
        ),
    )


class Steps:
    """Adds up what several stages did, and tells a job's row; without a job it only counts."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done = 0
        self._total = total
        self._progress = progress

    def __call__(self, count: int) -> None:
        """Count ``count`` more items; raises ``Cancelled`` when somebody asked the job to stop."""
        self._done += count
        if self._progress is not None:
            self._progress.advance(min(self._done, self._total), total=self._total)
