"""Which encoders the pipelines use. ``curation.features`` loads their libraries, on demand."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.choose import get_encoder
from curation.features.encoder import (
    DEFAULT_ENCODER,
    POOLED_ENCODER,
    Encoder,
    EncoderUnavailable,
    Precision,
)
from curation.features.regions import Crop
from curation.records import Region
from hits.services.errors import Refused

Boxes = Sequence[Mapping[str, int]]
MarkedPicture = tuple[Pillow.Image, Boxes]


class ImageVectors(Protocol):
    """Vectors by which near-duplicate photos are found."""

    name: str
    revision: str

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n RGB pictures."""
        ...


class Encoders(Protocol):
    """What a comparison round needs: pictures with regions and texts in one space, and sentences."""

    name: str
    revision: str
    sentence_name: str
    sentence_revision: str
    sentence_preprocessing: dict[str, Any]

    def regions(self, items: Sequence[MarkedPicture]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n pictures with their boxes (image pixels) marked."""
        ...

    def texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n inferences in the space of ``regions``."""
        ...

    def sentences(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, e) sentence vectors, for diversity and soft de-duplication."""
        ...


class ModelEncoders:
    """An image+text encoder for plausibility, all-MiniLM-L6-v2 for sentences (paper 001 E)."""

    def __init__(self, encoder: Encoder) -> None:
        from curation.features.sentence import SentenceEncoder

        self._encoder = encoder
        self._sentences = SentenceEncoder()
        self.preprocessing = encoder.preprocessing
        self.name = encoder.name
        self.revision = encoder.revision
        self.sentence_name = self._sentences.name
        self.sentence_revision = self._sentences.revision
        self.sentence_preprocessing = preprocessing_of(self._sentences)

    def regions(self, items: Sequence[MarkedPicture]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n pictures with their boxes (image pixels) marked."""
        boxes = [[Region(**box) for box in region] for _, region in items]
        return self._encoder.encode_regions([picture for picture, _ in items], boxes)

    def texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n inferences in the space of ``regions``."""
        return self._encoder.encode_texts(texts)

    def sentences(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, e) sentence vectors."""
        return self._sentences.encode_texts(texts)


def image_vectors(name: str = "") -> ImageVectors:
    """Return the encoder of that name for photos.

    Empty, and the default's own name, mean pooled image features: an encoder that sees names of objects
    would take two photos of two cats for the same.

    Raises:
        Refused: it is not known, or its weights cannot be had; the message says how to get them.
    """
    try:
        if name in {"", DEFAULT_ENCODER, POOLED_ENCODER}:
            from curation.features.label_sentence import PooledImageEncoder

            return PooledImageEncoder()
        return get_encoder(name)
    except EncoderUnavailable as error:
        raise Refused(str(error)) from error


def feature_encoder(
    name: str, *, precision: Precision = Precision.AUTO, crop: Crop = Crop.TWO_SQUARES
) -> Any:
    """Return the encoder of that name for a feature set; ``efficientnet-lite0`` has pictures only.

    Raises:
        Refused: it is not known, or its weights cannot be had; the message says how to get them.
    """
    if name == POOLED_ENCODER:
        return image_vectors(name)
    try:
        return get_encoder(name, precision=precision, crop=crop)
    except EncoderUnavailable as error:
        raise Refused(str(error)) from error


def preprocessing_of(encoder: object) -> dict[str, Any]:
    """Return what an encoder does to a picture first; nothing where it does not say."""
    return dict(getattr(encoder, "preprocessing", {}))


def is_parallel(encoder: object) -> bool:
    """Whether an encoder of ``curation.features`` made this promise: several threads may call it at once."""
    return hasattr(encoder, "preprocessing")


def encoders(name: str = "") -> Encoders:
    """Return the encoders of that name for comparison rounds; empty is the default.

    Raises:
        Refused: one is not known, or its weights cannot be had; the message says how to get them.
    """
    try:
        return ModelEncoders(get_encoder(name))
    except EncoderUnavailable as error:
        raise Refused(str(error)) from error
