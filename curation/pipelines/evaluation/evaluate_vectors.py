"""Score all pairs of an evaluation with an encoder: N regions and M texts take N + M encodings.

Each distinct region and text is encoded once, so that equal texts have equal scores and tie.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.evaluation.sets import LocalizationImage
from curation.families.sherlock.evaluation_plan import SplitEvaluationSets
from curation.families.sherlock.evaluation_submission import Matrix, submission_scores
from curation.features.encoder import Encoder
from curation.models import Subject
from curation.pipelines.encoders import get_preprocessing, get_region_mode, is_thread_safe
from curation.pipelines.vectors import StepCounter, encoder_origin, get_or_make_vectors
from curation.records import InvalidInput, ObservationRecord, Region
from curation.services.image_files import open_image
from hits.domain.hashing import content_sha256
from hits.domain.images.region_drawing import RegionMode
from hits.models import Image
from hits.services.jobs.jobs import Progress

CLUE_TEXTS = "clue"
Boxes = tuple[Region, ...]
MarkedRegion = tuple[str, Boxes]
"""A region: its image's URL in the version's rows, and its boxes."""
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EncodingSetup:
    """An encoder, the region mode (empty is the encoder's default), and the texts to encode."""

    encoder: Encoder
    region_mode: str = ""
    texts: str = "inference"

    @property
    def mode(self) -> RegionMode:
        """How regions are drawn."""
        return RegionMode(self.region_mode) if self.region_mode else get_region_mode(self.encoder)

    @property
    def encodes_clues(self) -> bool:
        """Whether the texts are clues, and the encoder encodes clues differently."""
        return self.texts == CLUE_TEXTS and hasattr(self.encoder, "encode_clues")


@dataclass(frozen=True, slots=True)
class EncoderScores:
    """Scores by file of a submission, in the order of the sorted test ids, and facts for the provenance."""

    scores: dict[str, Matrix]
    facts: dict[str, Any]


@dataclass(slots=True)
class _RowIndex:
    """Assigns row numbers to distinct items, in order of first appearance."""

    rows: dict[Any, int] = field(default_factory=dict)

    def add(self, item: Any) -> int:
        return self.rows.setdefault(item, len(self.rows))

    def add_all(self, items: Iterable[Any]) -> NDArray[np.intp]:
        return np.array([self.add(item) for item in items], dtype=np.intp)


def encoder_scores(
    sets: SplitEvaluationSets, setup: EncodingSetup, progress: Progress | None
) -> EncoderScores:
    """Return an encoder's scores of all pairs; vectors are saved, so that a stopped job can resume.

    Raises:
        InvalidInput: the encoder does not support the region mode.
        Refused: a photo's file is missing or broken.
    """
    if setup.mode not in setup.encoder.region_modes:
        supported = ", ".join(sorted(setup.encoder.region_modes))
        raise InvalidInput(
            f"region_mode: {setup.encoder.name} does not support {setup.mode}; use {supported}"
        )
    drawn, proposed, texts = _collect_items(sets)
    steps = StepCounter(len(drawn.rows) + len(proposed.rows) + len(texts.rows), progress)
    similarity = _SimilarityScoreSource(
        _region_vectors(sets, setup, list(drawn.rows), steps),
        _region_vectors(sets, setup, list(proposed.rows), steps),
        _text_vectors(sets, setup, list(texts.rows), steps),
        drawn,
        proposed,
        texts,
    )
    scores = submission_scores(sets, similarity)
    facts = {
        "encoder": setup.encoder.name,
        "revision": setup.encoder.revision,
        "region_mode": setup.mode.value,
        "preprocessing": get_preprocessing(setup.encoder),
        "encodings": {
            "regions": len(drawn.rows),
            "proposed_boxes": len(proposed.rows),
            "texts": len(texts.rows),
        },
    }
    return EncoderScores(scores, facts)


def _collect_items(sets: SplitEvaluationSets) -> tuple[_RowIndex, _RowIndex, _RowIndex]:
    """Return all regions that people drew, all proposed boxes, and all texts."""
    drawn, proposed, texts = _RowIndex(), _RowIndex(), _RowIndex()
    for chunk in sets.chunks:
        for pair in chunk:
            drawn.add((pair.image.url, pair.bboxes))
            texts.add(pair.inference)
    for row in sets.comparison:
        drawn.add(_row_region(row))
        texts.add_all(candidate["inference"] for candidate in row["candidates"])
    for image in sets.localization.images:
        proposed.add_all(_image_boxes(image))
    return drawn, proposed, texts


def _row_region(row: Mapping[str, Any]) -> MarkedRegion:
    return row["image"]["url"], tuple(Region(**box) for box in row["region"])


def _image_boxes(image: LocalizationImage) -> list[MarkedRegion]:
    return [(image.url, (box,)) for box in image.boxes]


@dataclass(frozen=True, slots=True)
class _SimilarityScoreSource:
    """Vectors of regions and texts, (n, d) each, with their row numbers: a ``PairScoreSource``."""

    drawn: Vectors
    proposed: Vectors
    texts: Vectors
    drawn_rows: _RowIndex
    proposed_rows: _RowIndex
    text_rows: _RowIndex

    def score_chunk(self, pairs: Sequence[ObservationRecord]) -> Matrix:
        """Return (n, n) similarities of the regions of n pairs with their inferences."""
        return _similarity_matrix(
            self._vectors_of_regions(pairs), self._vectors_of_texts(pair.inference for pair in pairs)
        )

    def score_image(self, image: LocalizationImage) -> tuple[Matrix, Matrix]:
        """Return (n, n) similarities of the regions for matching, and (k, m) of the proposed boxes."""
        boxes = self.proposed[self.proposed_rows.add_all(_image_boxes(image))]
        texts = self._vectors_of_texts(pair.inference for pair in image.pairs)
        return self.score_chunk(image.matched), _similarity_matrix(boxes, texts)

    def score_rated(self, rows: Sequence[Mapping[str, Any]]) -> Matrix:
        """Return the similarities of all candidates of rated sets with their set's region: (m,)."""
        return np.concatenate([self._score_rated_set(row) for row in rows])

    def _score_rated_set(self, row: Mapping[str, Any]) -> Matrix:
        region = self.drawn[self.drawn_rows.add_all([_row_region(row)])]
        texts = self._vectors_of_texts(candidate["inference"] for candidate in row["candidates"])
        return _similarity_matrix(region, texts).ravel()

    def _vectors_of_regions(self, pairs: Iterable[ObservationRecord]) -> Vectors:
        return self.drawn[self.drawn_rows.add_all((pair.image.url, pair.bboxes) for pair in pairs)]

    def _vectors_of_texts(self, texts: Iterable[str]) -> Vectors:
        return self.texts[self.text_rows.add_all(texts)]


def _similarity_matrix(regions: Vectors, texts: Vectors) -> Matrix:
    """Return the similarity of n regions with m texts, (n, m); in float64, so that equal rows tie."""
    if not len(regions):  # without regions their dimension is unknown
        return np.zeros((0, len(texts)))
    return np.asarray(regions, dtype=np.float64) @ np.asarray(texts, dtype=np.float64).T


def _region_vectors(
    sets: SplitEvaluationSets, setup: EncodingSetup, regions: list[MarkedRegion], steps: StepCounter
) -> Vectors:
    if not regions:
        return np.zeros((0, 1), dtype=np.float32)
    images = Image.objects.in_bulk({sets.photo_key_by_url[url] for url, _ in regions})
    of_url = {url: images[sets.photo_key_by_url[url]] for url, _ in regions}
    fingerprints = [
        content_sha256([of_url[url].sha256, [[b.left, b.top, b.width, b.height] for b in boxes]])
        for url, boxes in regions
    ]

    def encode(batch: Sequence[MarkedRegion]) -> Vectors:
        opened: dict[str, Pillow.Image] = {}
        for url, _ in batch:
            if url not in opened:
                # A new row object: threads that share one would close each other's file.
                opened[url] = open_image(Image(name=of_url[url].name, file=of_url[url].file.name))
        pictures, boxes = [opened[url] for url, _ in batch], [found for _, found in batch]
        return setup.encoder.encode_regions(pictures, boxes, setup.mode)

    return get_or_make_vectors(
        project=sets.version.project,
        origin=encoder_origin(setup.encoder, Subject.REGIONS, setup.mode.value),
        items=regions,
        ids=[fingerprint[:32] for fingerprint in fingerprints],
        fingerprints=fingerprints,
        encode=encode,
        step=steps,
        parallel=is_thread_safe(setup.encoder),
    )


def _text_vectors(
    sets: SplitEvaluationSets, setup: EncodingSetup, texts: list[str], steps: StepCounter
) -> Vectors:
    encode: Callable[[Sequence[str]], Vectors] = setup.encoder.encode_texts
    fingerprints = texts
    if setup.encodes_clues:
        encode = setup.encoder.encode_clues  # type: ignore[attr-defined]
        fingerprints = [
            content_sha256([CLUE_TEXTS, text]) for text in texts
        ]  # an equal inference has another vector
    return get_or_make_vectors(
        project=sets.version.project,
        origin=encoder_origin(setup.encoder, Subject.TEXTS),
        items=texts,
        ids=[content_sha256(text)[:32] for text in fingerprints],
        fingerprints=fingerprints,
        encode=encode,
        step=steps,
    )
