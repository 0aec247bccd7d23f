"""Images that splits share: ask for the search, keep what it found, and what people say of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import LeakageRun, LeakedPair, LeakReview, LeakVerdict
from curation.selectors.jobs import LEAKAGE
from curation.selectors.leakage import newest_review, split_sizes
from curation.sources.leakage import MIN_THRESHOLD
from hits.models import Image, Job, Project
from hits.services.errors import Refused
from hits.services.images import duplicates
from hits.services.jobs import jobs

MAX_PAIRS = 20_000
# Whose pictures are kept when two splits share one: results are reported on the first that there is.
SPLIT_PRIORITY = ("test", "val", "train")


class CompareBy(StrEnum):
    """By what images are compared."""

    NEAR = "near"
    COPIES = "copies"


@dataclass(frozen=True, slots=True)
class LeakageOptions:
    """How splits are compared.

    ``threshold`` is the least cosine of two image vectors. With the pooled EfficientNet-lite0 features that
    serve when no CLIP is at hand, no two of 104 COCO photographs reach more than 0.74 (median 0.24; 0.82
    among 258), while copies at half size, mirrored, cropped by 12 % or saved at JPEG quality 60 have at
    least 0.83, and those that were made small and saved badly 0.68 to 0.9. So 0.8 shows few pairs in vain;
    a lower one finds more changed copies and asks for more looking. The histogram of a run tells what suits
    a collection. ``limit`` is how many pairs are kept, the best ones. ``compare`` may leave the vectors
    out: then only equal files and shared published ids are found. ``encoder``: see ``DedupOptions``.
    """

    threshold: float = 0.8
    limit: int = 1000
    compare: str = CompareBy.NEAR
    encoder: str = ""

    def __post_init__(self) -> None:
        if not MIN_THRESHOLD <= self.threshold <= 1:
            raise Refused(f"threshold: {self.threshold:g} is not within {MIN_THRESHOLD:g} to 1")
        if not 1 <= self.limit <= MAX_PAIRS:
            raise Refused(f"limit: {self.limit} is not within 1 to {MAX_PAIRS}")
        if self.compare not in set(CompareBy):
            raise Refused(f"compare: {self.compare!r}; use {', '.join(CompareBy)}")


@dataclass(frozen=True, slots=True)
class SimilarPair:
    """Two images (row keys) with their cosine; 1 for equal files, 0 where no vectors were made."""

    first: int
    second: int
    cosine: float


@dataclass(frozen=True, slots=True)
class LeakageResult:
    """What a search found. ``found`` counts all pairs, ``pairs`` are those that are kept."""

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
        Conflict: one is under way.
    """
    sizes = split_sizes(project)
    if len(sizes) < 2:  # noqa: PLR2004 - a split leaks into another
        found = f"only {next(iter(sizes))} has images" if sizes else "no image is in a split"
        raise Refused(f"splits: {found}; import images with their splits first")
    return jobs.enqueue(
        task=LEAKAGE,
        title=f"Compare the splits of {sum(sizes.values())} images",
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
    """Keep what a search found."""
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


def review_pair(*, pair: LeakedPair, verdict: str, by: AbstractBaseUser) -> LeakReview | None:
    """Write down what a person says of two images; nothing when the same person said the same last.

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
def set_pair_aside(*, pair: LeakedPair, by: AbstractBaseUser) -> Image:
    """Say that two images are the same, and offer one of them no longer; return that one.

    The image of the split that results are reported on stays (``SPLIT_PRIORITY``). Pairs that people wrote and released
    versions stay as they are.

    Raises:
        Refused: the one that stays stands behind the other already.
    """
    review_pair(pair=pair, verdict=LeakVerdict.SAME, by=by)
    kept, duplicate = choose_kept_image(pair.first, pair.second)
    duplicates.add_duplicates(project=kept.project, retained=kept.pk, duplicates=[duplicate.pk], by=by)
    duplicate.refresh_from_db()
    return duplicate


def choose_kept_image(first: Image, second: Image) -> tuple[Image, Image]:
    """Return the image that is kept and the one that is set aside."""

    def split_rank(image: Image) -> int:
        return SPLIT_PRIORITY.index(image.split) if image.split in SPLIT_PRIORITY else len(SPLIT_PRIORITY)

    kept, duplicate = sorted((first, second), key=lambda image: (split_rank(image), image.pk))
    return kept, duplicate
