"""Build the leaderboard's three tasks from the pairs of one split: the pairs to score, and the answer key.

Retrieval has chunks of about 1,000 pairs, each image with each inference. Localization has each region with each
inference of an image with three or more pairs, and each proposed box with each inference of any image. Comparison has
the rated candidates. Test ids are keyed hashes, so that neither they nor their order reveal which inference belongs
to which image. Source: Hessel et al. 2022 §4 and the published leaderboard's files.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.answer_keys import COMPARISON, LOCALIZATION, RETRIEVAL
from curation.records import InvalidInput, ObservationRecord, Region
from validation.domain.agreement.box_agreement import iou_matrix

CHUNK_SIZE = 1000
MAX_BOXES = 100
MIN_INFERENCES = 3
_ID_BYTES = 16  # 32 hex digits, as the published ids
_SECRET_BYTES = 64  # blake2b's maximum key length


@dataclass(frozen=True, slots=True)
class TestIdMaker:
    """Makes test ids; equal content and secret give equal ids. secret: 1 to 64 bytes."""

    secret: bytes

    def __post_init__(self) -> None:
        if not 0 < len(self.secret) <= _SECRET_BYTES:
            raise InvalidInput(f"secret: has {len(self.secret)} bytes; use 1 to {_SECRET_BYTES}")

    def make(self, *parts: str) -> str:
        """Return the id of some content, given in parts: 32 hex digits."""
        text = "\0".join(parts).encode()
        return hashlib.blake2b(text, key=self.secret, digest_size=_ID_BYTES).hexdigest()


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A region and a text to score, by their indices, and the test id of the score."""

    test_id: str
    region_index: int
    text_index: int


@dataclass(frozen=True, slots=True)
class LocalizationImage:
    """An image for localization, by one-to-one matching, by proposed boxes, or by both.

    ``pairs``: all of its pairs; each inference is scored with each of ``boxes``, which a detector proposed, best
    first. ``matched``: the pairs for one-to-one matching; none if they are too few.
    """

    pairs: tuple[ObservationRecord, ...]
    matched: tuple[ObservationRecord, ...] = ()
    boxes: tuple[Region, ...] = ()

    @property
    def score_count(self) -> int:
        """Number of scores to submit."""
        return len(self.matched) ** 2 + len(self.pairs) * len(self.boxes)

    @property
    def url(self) -> str:
        """The image's address in version rows."""
        return self.pairs[0].image.url


@dataclass(slots=True)
class LocalizableImages:
    """The images for localization, and the numbers of omitted pairs or images by reason."""

    images: list[LocalizationImage] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def split_into_chunks(
    pairs: Sequence[ObservationRecord], *, size: int, rng: np.random.Generator
) -> list[list[ObservationRecord]]:
    """Split pairs into chunks: by ``split_idx`` if all have one, else at random and as evenly as possible.

    Pairs are first sorted by instance id, so that equal pairs, size and seed give equal chunks, in the database or in
    exported files.

    Args:
        pairs: all pairs of a split. Include those on photos taken down, so that other pairs keep their chunks.
        size: target number of pairs per random chunk.

    Raises:
        InvalidInput: only some pairs have a chunk.
    """
    pairs = sorted(pairs, key=lambda pair: pair.instance_id)
    numbered = [pair.split_idx for pair in pairs if pair.split_idx is not None]
    if numbered and len(numbered) < len(pairs):
        raise InvalidInput(
            f"split_idx: {len(numbered)} of {len(pairs)} pairs have one; give it to all or to none"
        )
    if numbered:
        by_number: dict[int, list[ObservationRecord]] = defaultdict(list)
        for pair, number in zip(pairs, numbered, strict=True):
            by_number[number].append(pair)
        return [by_number[number] for number in sorted(by_number)]
    count = max(1, round(len(pairs) / size))
    chunks = np.array_split(rng.permutation(len(pairs)), count)
    return [[pairs[index] for index in chunk.tolist()] for chunk in chunks]


def retrieval_test_ids(chunk: Sequence[ObservationRecord], ids: TestIdMaker) -> list[str]:
    """Return the n² test ids of a chunk, image by image: image i with inference j is at i * n + j."""
    names = [pair.instance_id for pair in chunk]
    return [ids.make(RETRIEVAL, image, inference) for image in names for inference in names]


def retrieval_key(chunk: Sequence[ObservationRecord], test_ids: Sequence[str]) -> dict[str, list[str]]:
    """Return {test id: [image instance, inference instance]}; test_ids are in the order of ``retrieval_test_ids``."""
    names = [pair.instance_id for pair in chunk]
    pairs = ([image, inference] for image in names for inference in names)
    return dict(zip(test_ids, pairs, strict=True))


def find_localizable_images(
    pairs: Iterable[ObservationRecord],
    *,
    boxes: Mapping[str, Sequence[Region]],
    min_pairs: int,
    max_boxes: int,
) -> LocalizableImages:
    """Return the images for localization.

    Inferences are matched to regions on images with at least ``min_pairs`` distinguishable pairs. A pair that repeats
    an earlier inference or region of its image is omitted from matching, since its answer would be ambiguous.
    Proposed boxes are scored with every pair of an image, even if these are few: each inference has its own answer.
    boxes: by image address, best first; ``max_boxes`` of them are used.
    """
    by_image: dict[str, list[ObservationRecord]] = defaultdict(list)
    for pair in pairs:
        by_image[pair.image.url].append(pair)
    result = LocalizableImages()
    for url, all_pairs in by_image.items():
        distinct = _select_distinguishable(all_pairs, result.left_out)
        if len(distinct) < min_pairs:
            distinct = []
            result.left_out["image_with_too_few_pairs_to_match"] += 1
        proposed = tuple(boxes.get(url, ()))[:max_boxes]
        if boxes and not proposed:
            result.left_out["image_without_proposed_boxes"] += 1
        if distinct or proposed:
            result.images.append(LocalizationImage(tuple(all_pairs), tuple(distinct), proposed))
    return result


def _select_distinguishable(
    pairs: Sequence[ObservationRecord], left_out: Counter[str]
) -> list[ObservationRecord]:
    texts: set[str] = set()
    regions: set[frozenset[Region]] = set()
    distinct = []
    for pair in pairs:
        text, region = " ".join(pair.inference.casefold().split()), frozenset(pair.bboxes)
        if text in texts:
            left_out["pair_with_the_text_of_another"] += 1
        elif region in regions:
            left_out["pair_with_the_region_of_another"] += 1
        else:
            texts.add(text)
            regions.add(region)
            distinct.append(pair)
    return distinct


def matching_requests(image: LocalizationImage, ids: TestIdMaker) -> list[ScoreRequest]:
    """Return each region of an image with each inference, for matching; both are indices of the matched pairs."""
    return [
        ScoreRequest(ids.make(LOCALIZATION, "given", region.instance_id, text.instance_id), i, j)
        for i, region in enumerate(image.matched)
        for j, text in enumerate(image.matched)
    ]


def proposed_box_requests(image: LocalizationImage, ids: TestIdMaker) -> list[ScoreRequest]:
    """Return each proposed box of an image with each inference; region is an index of boxes, text one of pairs."""
    return [
        ScoreRequest(ids.make(LOCALIZATION, "proposed", text.instance_id, str(i)), i, j)
        for j, text in enumerate(image.pairs)
        for i in range(len(image.boxes))
    ]


def box_overlaps(image: LocalizationImage) -> NDArray[np.float64]:
    """Return each proposed box's greatest IoU with any box of each pair: (pairs, boxes)."""
    proposed = _corners(image.boxes)
    return np.array([iou_matrix(proposed, _corners(pair.bboxes)).max(axis=1) for pair in image.pairs])


def localization_key(image: LocalizationImage, ids: TestIdMaker) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield an image's entries of the key: (test id, entry)."""
    for request in matching_requests(image, ids):
        yield (
            request.test_id,
            {
                "type": "gt",
                "image": image.url,
                "inst_id": image.matched[request.text_index].instance_id,
                "bbox_idx": request.region_index,
                "correct": request.region_index == request.text_index,
            },
        )
    if not image.boxes:
        return
    iou = box_overlaps(image).tolist()
    for request in proposed_box_requests(image, ids):
        yield (
            request.test_id,
            {
                "type": "auto",
                "image": image.url,
                "inst_id": image.pairs[request.text_index].instance_id,
                "IoU": iou[request.text_index][request.region_index],
            },
        )


def comparison_test_ids(row: Mapping[str, Any], ids: TestIdMaker) -> list[str]:
    """Return the test ids of a rated set's candidates, in order."""
    rated = row["candidates"]
    return [ids.make(COMPARISON, row["Input_iid"], candidate["source_iid"]) for candidate in rated]


def _corners(boxes: Sequence[Region]) -> NDArray[np.float64]:
    """Return left, top, right, bottom: (k, 4)."""
    rows = [(box.left, box.top, box.right, box.bottom) for box in boxes]
    return np.array(rows, dtype=np.float64).reshape(-1, 4)
