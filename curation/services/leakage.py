"""Request searches for images that splits share, and store the pairs and people's reviews."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import LeakageRun, LeakedPair, LeakReview, LeakVerdict
from curation.selectors.jobs import LEAKAGE
from curation.selectors.leakage import count_images_by_split, newest_review
from curation.sources.leakage import MIN_THRESHOLD
from hits.models import Image, Job, Project
from hits.services.errors import Refused
from hits.services.images import duplicates
from hits.services.jobs import jobs

MAX_PAIRS = 20_000
# If two splits share an image, the first of these splits keeps it: results are reported on test, then val.
SPLIT_PRIORITY = ("test", "val", "train")


class CompareBy(StrEnum):
    """How images are compared: by vectors, or only as copies (equal files or shared published ids)."""

    NEAR = "near"
    COPIES = "copies"


@dataclass(frozen=True, slots=True)
class LeakageOptions:
    """How splits are compared.

    ``threshold`` is the minimum cosine of two image vectors. With pooled EfficientNet-lite0 features, the default
    without CLIP, no two of 104 COCO photographs exceed 0.74 (median 0.24; 0.82 among 258). Copies at half size,
    mirrored, cropped by 12 % or at JPEG quality 60 have at least 0.83; small copies of low quality 0.68 to 0.9. So
    0.8 shows few false pairs; a lower threshold finds more altered copies and needs more reviewing. The histogram of
    a run shows which threshold suits a collection. ``limit``: number of stored pairs, best first. ``compare`` may
    omit vectors: then only equal files and shared published ids count. ``encoder``: see ``DedupOptions``.
    """

    threshold: float = 0.8
    limit: int = 1000
    compare: str = CompareBy.NEAR
    encoder: str = ""

    def __post_init__(self) -> None:
        if not MIN_THRESHOLD <= self.threshold <= 1:
            raise Refused(f"threshold: {self.threshold:g} is not between {MIN_THRESHOLD:g} and 1")
        if not 1 <= self.limit <= MAX_PAIRS:
            raise Refused(f"limit: {self.limit} is not within 1 to {MAX_PAIRS}")
        if self.compare not in set(CompareBy):
            raise Refused(f"compare: {self.compare!r}; use {', '.join(CompareBy)}")


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Two images (row keys) with their cosine; 1 for equal files, 0 without vectors."""

    first: int
    second: int
    cosine: float


@dataclass(frozen=True, slots=True)
class LeakageResult:
    """The result of a search. ``found`` counts all pairs, ``pairs`` are the stored ones."""

    encoder: str
    revision: str
    checked: int
    found: int
    pairs: Sequence[SimilarPair]
    provenance: Mapping[str, Any]


def request_leakage_check(
    *,
    project: Project,
    options: LeakageOptions = LeakageOptions(),
    by: AbstractBaseUser | None = None,
    queue: bool = True,
) -> Job:
    """Queue a search for images that splits share; ``queue`` as for ``jobs.enqueue``.

    Raises:
        Refused: fewer than two splits have images.
        Conflict: one is running.
    """
    sizes = count_images_by_split(project)
    if len(sizes) < 2:  # noqa: PLR2004 - a split leaks into another
        found = f"only {next(iter(sizes))} has images" if sizes else "no image is in a split"
        raise Refused(f"splits: {found}; import images with their splits first")
    return jobs.enqueue(
        task=LEAKAGE,
        title=f"Compare the splits of {sum(sizes.values())} photos",
        project=project,
        by=by,
        exclusive_key=f"leakage:{project.pk}",
        resumable=True,
        queue=queue,
        options=asdict(options),
    )


@transaction.atomic
def store_leaks(
    *, project: Project, options: LeakageOptions, leaks: LeakageResult, by: AbstractBaseUser | None = None
) -> LeakageRun:
    """Store the result of a search."""
    run = LeakageRun.objects.create(
        project=project,
        encoder=leaks.encoder,
        revision=leaks.revision,
        threshold=options.threshold,
        checked=leaks.checked,
        found=leaks.found,
        provenance=dict(leaks.provenance),
        created_by_id=by.pk if by else None,
    )
    LeakedPair.objects.bulk_create(
        [
            LeakedPair(
                run=run,
                first_id=min(pair.first, pair.second),
                second_id=max(pair.first, pair.second),
                cosine=pair.cosine,
            )
            for pair in leaks.pairs
        ],
        batch_size=500,
    )
    return run


def review_leaked_pair(*, pair: LeakedPair, verdict: str, by: AbstractBaseUser) -> LeakReview | None:
    """Record a person's verdict on two images; a repeated verdict is not stored again.

    Raises:
        Refused: there is no such verdict.
    """
    if verdict not in set(LeakVerdict):
        raise Refused(f"verdict: {verdict!r}; use {', '.join(LeakVerdict)}")
    first, second = sorted((pair.first_id, pair.second_id))
    last = newest_review(first, second)
    if last is not None and (last.verdict, last.by_id) == (verdict, by.pk):
        return None
    return LeakReview.objects.create(first_id=first, second_id=second, verdict=verdict, by_id=by.pk)


@transaction.atomic
def set_leaked_image_aside(*, pair: LeakedPair, by: AbstractBaseUser) -> Image:
    """Mark two images as the same, set one of them aside, and return it.

    ``SPLIT_PRIORITY`` decides which image is kept. Collected pairs and released versions do not change.

    Raises:
        Refused: the image to keep is already marked as a duplicate of the other.
    """
    review_leaked_pair(pair=pair, verdict=LeakVerdict.SAME, by=by)
    kept, duplicate = order_kept_first(pair.first, pair.second)
    duplicates.add_duplicate_marks(project=kept.project, retained=kept.pk, duplicates=[duplicate.pk], by=by)
    duplicate.refresh_from_db()
    return duplicate


def order_kept_first(first: Image, second: Image) -> tuple[Image, Image]:
    """Return the image that is kept and the one that is set aside."""

    def split_rank(image: Image) -> int:
        return SPLIT_PRIORITY.index(image.split) if image.split in SPLIT_PRIORITY else len(SPLIT_PRIORITY)

    kept, duplicate = sorted((first, second), key=lambda image: (split_rank(image), image.pk))
    return kept, duplicate
