"""The encoders of the pipelines. ``curation.features`` loads their libraries on demand."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.features.crops import Crop
from curation.features.encoder import (
    DEFAULT_ENCODER,
    POOLED_ENCODER,
    Encoder,
    EncoderUnavailable,
    Precision,
)
from curation.features.factory import get_encoder
from curation.records import Region
from curation.selectors.scorers import SCORER_PREFIX, scorer_by_encoder, weights_folder
from curation.services.refusals import refuse_invalid_input
from hits.domain.images.region_drawing import RegionMode
from hits.services.errors import Refused

Boxes = Sequence[Mapping[str, int]]
MarkedImage = tuple[Pillow.Image, Boxes]


class ImageEncoder(Protocol):
    """Encodes whole photos, for near-duplicates and error analyses."""

    name: str
    revision: str

    def encode_images(self, pictures: Sequence[Pillow.Image]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n RGB images."""
        ...


class RoundEncoders(Protocol):
    """The encoders of a comparison round: images with regions and texts in one space, and sentences."""

    name: str
    revision: str
    sentence_name: str
    sentence_revision: str
    sentence_preprocessing: dict[str, Any]

    def encode_regions(self, items: Sequence[MarkedImage]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n images with their boxes (image pixels) marked."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n inferences in the space of ``encode_regions``."""
        ...

    def encode_sentences(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, e) sentence vectors, for diversity and soft de-duplication."""
        ...


class ModelEncoders:
    """An image+text encoder for plausibility, all-MiniLM-L6-v2 for sentences (Hessel et al. 2022, appendix E)."""

    def __init__(self, encoder: Encoder) -> None:
        from curation.features.sentence import SentenceEncoder

        self._encoder = encoder
        self._sentences = SentenceEncoder()
        self.region_mode = get_region_mode(encoder)
        self.preprocessing = encoder.preprocessing
        self.name = encoder.name
        self.revision = encoder.revision
        self.sentence_name = self._sentences.name
        self.sentence_revision = self._sentences.revision
        self.sentence_preprocessing = get_preprocessing(self._sentences)

    def encode_regions(self, items: Sequence[MarkedImage]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n images with their boxes (image pixels) drawn in ``region_mode``."""
        boxes = [[Region(**box) for box in region] for _, region in items]
        return self._encoder.encode_regions([picture for picture, _ in items], boxes, self.region_mode)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, d) vectors of n inferences in the space of ``encode_regions``."""
        return self._encoder.encode_texts(texts)

    def encode_sentences(self, texts: Sequence[str]) -> NDArray[np.floating]:
        """Return (n, e) sentence vectors."""
        return self._sentences.encode_texts(texts)


def get_image_encoder(name: str = "") -> ImageEncoder:
    """Return the encoder of that name for whole photos.

    An empty name and the default encoder's name mean pooled image features: an encoder of object names would
    confuse photos of two different cats.

    Raises:
        Refused: it is unknown, or its weights are not available; the message says how to get them.
    """
    try:
        if name in {"", DEFAULT_ENCODER, POOLED_ENCODER}:
            from curation.features.label_sentence import PooledImageEncoder

            return PooledImageEncoder()
        return get_encoder(name)
    except EncoderUnavailable as error:
        raise Refused(str(error)) from error


def get_feature_encoder(
    name: str, *, precision: Precision = Precision.AUTO, crop: Crop = Crop.TWO_SQUARES
) -> Any:
    """Return the encoder of that name for a feature set; ``efficientnet-lite0`` encodes images only.

    Args:
        name: an encoder of ``curation.features``, or ``scorer:<number>``. crop: ignored for a scorer.

    Raises:
        Refused: it is unknown, or its weights are not available; the message says how to get them.
    """
    if name == POOLED_ENCODER:
        return get_image_encoder(name)
    return _get_joint_encoder(name, precision=precision, crop=crop)


def _get_joint_encoder(
    name: str, *, precision: Precision = Precision.AUTO, crop: Crop = Crop.TWO_SQUARES
) -> Encoder:
    with refuse_invalid_input():  # includes EncoderUnavailable
        if name.startswith(SCORER_PREFIX):
            return _load_scorer_encoder(name, precision)
        return get_encoder(name, precision=precision, crop=crop)


def _load_scorer_encoder(name: str, precision: Precision) -> Encoder:
    """Load a scorer of the project."""
    from curation.scorer.model.encoder import ScorerEncoder

    scorer = scorer_by_encoder(name)
    if scorer is None:
        raise EncoderUnavailable(
            f"encoder {name!r}: there is no ready scorer of that number; train one first"
        )
    return ScorerEncoder(weights_folder(scorer), name=scorer.name, precision=precision)


def get_region_mode(encoder: object) -> RegionMode:
    """Return an encoder's default region mode: a scorer's training mode, for others highlight."""
    return RegionMode(getattr(encoder, "region_mode", RegionMode.HIGHLIGHT))


def get_preprocessing(encoder: object) -> dict[str, Any]:
    """Return an encoder's preprocessing; empty if it does not state any."""
    return dict(getattr(encoder, "preprocessing", {}))


def is_thread_safe(encoder: object) -> bool:
    """Whether an encoder is thread-safe, as all those of ``curation.features`` are."""
    return hasattr(encoder, "preprocessing")


def get_round_encoders(name: str = "") -> RoundEncoders:
    """Return the encoders of that name for comparison rounds; empty is the default, ``scorer:<number>`` a scorer.

    Raises:
        Refused: one is unknown, or its weights are not available; the message says how to get them.
    """
    return ModelEncoders(_get_joint_encoder(name))
