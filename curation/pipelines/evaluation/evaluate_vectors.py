"""Score all pairs of an evaluation with an encoder: N regions and M texts are N + M encodings.

Each region and each text is encoded once, wherever it is asked about, so that equal texts have equal scores and tie.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.evaluation.sets import LocalizationImage
from curation.families.sherlock.evaluation_plan import SplitSets
from curation.families.sherlock.evaluation_submission import Matrix, submission_scores
from curation.features.encoder import Encoder
from curation.models import Subject
from curation.pipelines.encoders import is_parallel, preprocessing_of, region_mode_of
from curation.pipelines.vectors import Maker, Steps, open_image, vectors_of
from curation.records import InvalidInput, ObservationRecord, Region
from hits.domain.hashing import content_sha256
from hits.domain.images.region_drawing import RegionMode
from hits.models import Image
from hits.services.jobs.jobs import Progress

CLUE = "clue"
Boxes = tuple[Region, ...]
Marked = tuple[str, Boxes]
"""A region: what rows call its image, and its boxes."""
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shown:
    """An encoder, how it is shown a region (empty is as it was trained), and which texts it reads."""

    encoder: Encoder
    region_mode: str = ""
    texts: str = "inference"

    @property
    def mode(self) -> RegionMode:
        """How regions are drawn."""
        return RegionMode(self.region_mode) if self.region_mode else region_mode_of(self.encoder)

    @property
    def tells_clues(self) -> bool:
        """Whether texts are clues, and the encoder reads those in a way of their own."""
        return self.texts == CLUE and hasattr(self.encoder, "encode_clues")


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores by file of a submission, in the order of the sorted test ids, and what the provenance says."""

    scores: dict[str, Matrix]
    facts: dict[str, Any]


@dataclass(slots=True)
class _Rows:
    """Things to encode, each once, in the order in which they were first asked about."""

    places: dict[Any, int] = field(default_factory=dict)

    def place(self, item: Any) -> int:
        return self.places.setdefault(item, len(self.places))

    def of(self, items: Iterable[Any]) -> NDArray[np.intp]:
        return np.array([self.place(item) for item in items], dtype=np.intp)


def encoder_scores(sets: SplitSets, shown: Shown, progress: Progress | None) -> Scored:
    """Return an encoder's scores of all that is asked; vectors are kept, so that a stopped job goes on.

    Raises:
        InvalidInput: the encoder cannot draw regions in that way.
        Refused: a photo's file is missing or broken.
    """
    if shown.mode not in shown.encoder.region_modes:
        able = ", ".join(sorted(shown.encoder.region_modes))
        raise InvalidInput(f"region_mode: {shown.encoder.name} cannot do {shown.mode}; use {able}")
    given, proposed, texts = _wanted(sets)
    steps = Steps(len(given.places) + len(proposed.places) + len(texts.places), progress)
    products = _Products(
        _region_vectors(sets, shown, list(given.places), steps),
        _region_vectors(sets, shown, list(proposed.places), steps),
        _text_vectors(sets, shown, list(texts.places), steps),
        given,
        proposed,
        texts,
    )
    scores = submission_scores(sets, products)
    facts = {
        "encoder": shown.encoder.name,
        "revision": shown.encoder.revision,
        "region_mode": shown.mode.value,
        "preprocessing": preprocessing_of(shown.encoder),
        "encodings": {
            "regions": len(given.places),
            "proposed_boxes": len(proposed.places),
            "texts": len(texts.places),
        },
    }
    return Scored(scores, facts)


def _wanted(sets: SplitSets) -> tuple[_Rows, _Rows, _Rows]:
    """Return all regions that people drew, all that a detector proposed, and all texts."""
    given, proposed, texts = _Rows(), _Rows(), _Rows()
    for chunk in sets.chunks:
        for pair in chunk:
            given.place((pair.image.url, pair.bboxes))
            texts.place(pair.inference)
    for row in sets.comparison:
        given.place(_region_of(row))
        texts.of(candidate["inference"] for candidate in row["candidates"])
    for image in sets.localization.images:
        proposed.of(_boxes_of(image))
    return given, proposed, texts


def _region_of(row: Mapping[str, Any]) -> Marked:
    return row["image"]["url"], tuple(Region(**box) for box in row["region"])


def _boxes_of(image: LocalizationImage) -> list[Marked]:
    return [(image.url, (box,)) for box in image.boxes]


@dataclass(frozen=True, slots=True)
class _Products:
    """Vectors of regions and texts, (n, d) each, and where each of them is: a ``PairScores``."""

    given: Vectors
    proposed: Vectors
    words: Vectors
    given_rows: _Rows
    proposed_rows: _Rows
    text_rows: _Rows

    def of_chunk(self, pairs: Sequence[ObservationRecord]) -> Matrix:
        """Return (n, n) similarities of the regions of n pairs with their inferences."""
        return _all_pairs(self._drawn(pairs), self._texts(pair.inference for pair in pairs))

    def of_image(self, image: LocalizationImage) -> tuple[Matrix, Matrix]:
        """Return (n, n) similarities of the regions that are matched, and (k, m) of the proposed boxes."""
        boxes = self.proposed[self.proposed_rows.of(_boxes_of(image))]
        return self.of_chunk(image.matched), _all_pairs(
            boxes, self._texts(pair.inference for pair in image.pairs)
        )

    def of_rated(self, rows: Sequence[Mapping[str, Any]]) -> Matrix:
        """Return the similarities of all candidates of rated sets with their set's region: (m,)."""
        return np.concatenate([self._rated(row) for row in rows])

    def _rated(self, row: Mapping[str, Any]) -> Matrix:
        region = self.given[self.given_rows.of([_region_of(row)])]
        return _all_pairs(region, self._texts(one["inference"] for one in row["candidates"])).ravel()

    def _drawn(self, pairs: Iterable[ObservationRecord]) -> Vectors:
        return self.given[self.given_rows.of((pair.image.url, pair.bboxes) for pair in pairs)]

    def _texts(self, texts: Iterable[str]) -> Vectors:
        return self.words[self.text_rows.of(texts)]


def _all_pairs(regions: Vectors, texts: Vectors) -> Matrix:
    """Return the similarity of n regions with m texts, (n, m); in float64, so that equal rows tie."""
    if not len(regions):  # without a region nobody knows their dimension
        return np.zeros((0, len(texts)))
    return np.asarray(regions, dtype=np.float64) @ np.asarray(texts, dtype=np.float64).T


def _region_vectors(sets: SplitSets, shown: Shown, regions: list[Marked], steps: Steps) -> Vectors:
    if not regions:
        return np.zeros((0, 1), dtype=np.float32)
    images = Image.objects.in_bulk({sets.image_of[url] for url, _ in regions})
    of_url = {url: images[sets.image_of[url]] for url, _ in regions}
    fingerprints = [
        content_sha256([of_url[url].sha256, [[b.left, b.top, b.width, b.height] for b in boxes]])
        for url, boxes in regions
    ]

    def encode(few: Sequence[Marked]) -> Vectors:
        opened: dict[str, Pillow.Image] = {}
        for url, _ in few:
            if url not in opened:
                # A row of its own: threads that share one would close each other's file.
                opened[url] = open_image(Image(name=of_url[url].name, file=of_url[url].file.name))
        return shown.encoder.encode_regions(
            [opened[url] for url, _ in few], [boxes for _, boxes in few], shown.mode
        )

    return vectors_of(
        project=sets.version.project,
        maker=_maker(shown, Subject.REGIONS, shown.mode.value),
        items=regions,
        ids=[fingerprint[:32] for fingerprint in fingerprints],
        fingerprints=fingerprints,
        encode=encode,
        step=steps,
        parallel=is_parallel(shown.encoder),
    )


def _text_vectors(sets: SplitSets, shown: Shown, texts: list[str], steps: Steps) -> Vectors:
    encode: Callable[[Sequence[str]], Vectors] = shown.encoder.encode_texts
    prints = texts
    if shown.tells_clues:
        encode = shown.encoder.encode_clues  # type: ignore[attr-defined]
        prints = [content_sha256([CLUE, text]) for text in texts]  # another vector than the inference's
    return vectors_of(
        project=sets.version.project,
        maker=_maker(shown, Subject.TEXTS, ""),
        items=texts,
        ids=[content_sha256(text)[:32] for text in prints],
        fingerprints=prints,
        encode=encode,
        step=steps,
    )


def _maker(shown: Shown, subject: Subject, region_mode: str) -> Maker:
    encoder = shown.encoder
    return Maker(
        encoder.name,
        encoder.revision,
        subject,
        preprocessing=preprocessing_of(encoder),
        region_mode=region_mode,
    )
