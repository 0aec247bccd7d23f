"""Frozen vectors of objects for R2C: of each object's crop and of the whole image, computed once or read from files.

R2C as published encodes objects by RoIAlign on a ResNet-50 (``detector``). Without a GPU, an image encoder of this
platform encodes each object's crop instead, before the training.

A folder of stored vectors is a sealed folder of shards (``curation.features.shards``). Item ids are ``IMAGE`` for a
whole image and ``METADATA#3`` for its object 3, counted from 0: the published ``img_fn`` and ``metadata_fn``.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.chooser.config import STORED_VECTORS
from curation.chooser.objects import mentioned_objects
from curation.chooser.questions import Box, ChoiceQuestion, add_detections
from curation.features.encoder import POOLED_ENCODER
from curation.features.shards import (
    EncodedItem,
    FeatureSpec,
    ShardFolder,
    combine_hashes,
    open_features,
)
from curation.records import InvalidInput

GRID, ENCODER_PREFIX = "grid", "encoder:"
GRID_SIDE = 4
SUBJECT = "object"
BATCH_SIZE = 32
_RECENT_IMAGES = 64
Vectors = NDArray[np.float32]
ProgressCallback = Callable[[int, int], None]


class ImageEncoder(Protocol):
    """Encodes RGB pictures as (n, dim) float32 vectors. revision: of its weights."""

    name: str
    revision: str
    dim: int

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> Vectors:
        """Return one row per picture."""
        ...


class GridEncoder:
    """The mean colours of a 4 by 4 grid, from -1 to 1: needs no weights, for tests and dry runs."""

    name = GRID
    revision = ""
    dim = GRID_SIDE * GRID_SIDE * 3

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> Vectors:
        """Return (n, 48) rows."""
        side = (GRID_SIDE, GRID_SIDE)
        rows = [np.asarray(picture.resize(side, Pillow.Resampling.BOX)).reshape(-1) for picture in pictures]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.dim) / 127.5 - 1


def load_image_encoder(source: str) -> ImageEncoder:
    """Return the encoder of a setting: ``grid`` or ``encoder:<name>``.

    Raises:
        InvalidInput: the name is not known, or a package or weights are missing.
    """
    if source == GRID:
        return GridEncoder()
    name = source.removeprefix(ENCODER_PREFIX)
    if name == source:
        raise InvalidInput(
            f"visual: {source!r} is not known; use {GRID}, {STORED_VECTORS}, {ENCODER_PREFIX}{POOLED_ENCODER}, or "
            "cnn: and the folder of a ResNet"
        )
    if name == POOLED_ENCODER:
        from curation.features.label_sentence import PooledImageEncoder  # noqa: PLC0415 - torch, on demand

        return PooledImageEncoder()
    from curation.features.factory import get_encoder  # noqa: PLC0415 - torch, on demand

    return get_encoder(name)


class ObjectVectors(Protocol):
    """The vectors of objects. size: of a vector."""

    size: int

    def select(self, question: ChoiceQuestion, objects: Sequence[int]) -> Vectors:
        """Return the (1 + n, size) vectors of the whole image and of n objects."""
        ...


class StoredVectors:
    """Vectors of a sealed folder of shards.

    Raises:
        InvalidInput: by the constructor, if the folder is incomplete or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._vectors = open_features(folder)
        self.size = self._vectors.shape[1]
        self.revision = str(self._vectors.manifest["encoder"])
        items = ShardFolder(folder).items(range(len(self._vectors)))
        self._rows = {item.id: row for row, item in enumerate(items)}

    def select(self, question: ChoiceQuestion, objects: Sequence[int]) -> Vectors:
        """Return the (1 + n, size) vectors of the whole image and of n objects.

        Raises:
            InvalidInput: the folder lacks one; the message names it.
        """
        ids = [object_id(question, index) for index in (None, *objects)]
        missing = next((name for name in ids if name not in self._rows), None)
        if missing is not None:
            raise InvalidInput(
                f"question {question.annot_id}: {missing} has no vector; make the vectors again"
            )
        return self._vectors.take(np.array([self._rows[name] for name in ids], dtype=np.int64))


class EncodedVectors:
    """Vectors that are computed when they are needed. images: the image folder, with the published metadata."""

    def __init__(self, encoder: ImageEncoder, images: Path) -> None:
        self._encoder, self._images = encoder, images
        self.size = encoder.dim
        self._open = lru_cache(maxsize=_RECENT_IMAGES)(self._open_image)
        self._place = lru_cache(maxsize=_RECENT_IMAGES)(self._read_boxes)  # of all objects at once

    def select(self, question: ChoiceQuestion, objects: Sequence[int]) -> Vectors:
        """Return the (1 + n, size) vectors of the whole image and of n objects.

        Raises:
            InvalidInput: the image or its metadata cannot be read.
        """
        crops = [self.crop(question, index) for index in (None, *objects)]
        return self._encoder.encode_images(crops)

    def crop(self, question: ChoiceQuestion, index: int | None) -> Pillow.Image:
        """Return an object's part of the image; the whole image without an index."""
        picture = self._open(question.annot_id, question.image)
        if index is None:
            return picture
        return picture.crop(crop_edges(self._place(question)[index], picture.size))

    def _read_boxes(self, question: ChoiceQuestion) -> tuple[Box, ...]:
        return add_detections(question, self._images).boxes

    def _open_image(self, annot_id: str, image: str) -> Pillow.Image:
        return open_picture(self._images / image, annot_id)


def open_picture(path: Path, annot_id: str) -> Pillow.Image:
    """Return an image's pixels, RGB.

    Raises:
        InvalidInput: the file is missing or damaged; the message names the question.
    """
    try:
        with Pillow.open(path) as opened:
            return opened.convert("RGB")
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError) as error:
        raise InvalidInput(
            f"question {annot_id}: its image {path.name} cannot be read; restore the file"
        ) from error


def crop_edges(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return a box in whole pixels, with at least one of them, within an image of width and height ``size``."""
    left, top = (min(max(int(edge), 0), limit - 1) for edge, limit in zip(box[:2], size, strict=True))
    right, bottom = (
        min(max(int(np.ceil(edge)), start + 1), limit)
        for edge, start, limit in zip(box[2:], (left, top), size, strict=True)
    )
    return left, top, right, bottom


def object_id(question: ChoiceQuestion, index: int | None) -> str:
    """Return the id of an object's vector; that of the whole image without an index."""
    return question.image if index is None else f"{question.metadata}#{index}"


def store_object_vectors(
    questions: Sequence[ChoiceQuestion],
    images: Path,
    encoder: ImageEncoder,
    folder: Path,
    *,
    report_progress: ProgressCallback = lambda *_: None,
) -> StoredVectors:
    """Return the stored vectors of the objects that questions mention, and make the missing ones.

    Args:
        report_progress: gets (shards done, total); may raise to stop. A later call resumes at the next shard.

    Raises:
        InvalidInput: an image or its metadata cannot be read.
    """
    subjects = _distinct_subjects(questions)
    items = [EncodedItem(name, hashlib.sha256(name.encode()).hexdigest()) for name in subjects]
    spec = FeatureSpec(
        encoder=encoder.name,
        revision=encoder.revision,
        subject=SUBJECT,
        count=len(items),
        items_sha256=combine_hashes([item.sha256 for item in items]),
    )
    shards, source = ShardFolder(folder), EncodedVectors(encoder, images)
    shards.write_items(items)
    missing, listed = shards.missing_shards(spec), list(subjects.values())
    for done, shard in enumerate(missing):
        report_progress(spec.shard_count - len(missing) + done, spec.shard_count)
        rows = spec.rows(shard)
        chunks = (listed[start : min(start + BATCH_SIZE, rows.stop)] for start in rows[::BATCH_SIZE])
        crops = ([source.crop(question, index) for question, index in chunk] for chunk in chunks)
        shards.write(shard, np.concatenate([encoder.encode_images(chunk) for chunk in crops]))
    shards.seal(spec)
    return StoredVectors(folder)


def _distinct_subjects(
    questions: Sequence[ChoiceQuestion],
) -> dict[str, tuple[ChoiceQuestion, int | None]]:
    """Return each image and each object that a question mentions by its id, with a question about it."""
    subjects: dict[str, tuple[ChoiceQuestion, int | None]] = {}
    for question in questions:
        for index in (None, *mentioned_objects(question)):
            subjects.setdefault(object_id(question, index), (question, index))
    return subjects
