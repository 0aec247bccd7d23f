"""Queries on images shared by splits, and on people's reviews of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from curation.models import LeakageRun, LeakedPair, LeakReview, LeakVerdict
from hits.models import Image, Project

OPEN = "open"


@dataclass(frozen=True, slots=True)
class ComparedImage:
    """The fields of an image that a comparison of splits needs; many are in memory at a time."""

    pk: int
    split: str
    sha256: str
    url: str
    facts: dict[str, Any]
    set_aside: bool


def images_to_compare(project: Project) -> list[ComparedImage]:
    """Return all images that were not taken down, oldest first, including duplicates and those without a split."""
    rows = Image.objects.filter(project=project, taken_down_at__isnull=True).order_by("pk")
    values = rows.values_list("pk", "split", "sha256", "source_url", "source_record__facts", "duplicate_of")
    return [
        ComparedImage(pk, split, sha256, url, facts or {}, duplicate_of is not None)
        for pk, split, sha256, url, facts, duplicate_of in values.iterator()
    ]


def count_images_by_split(project: Project) -> dict[str, int]:
    """Return the number of offered images of each split."""
    rows = (
        Image.objects.filter(project=project, taken_down_at__isnull=True, duplicate_of__isnull=True)
        .exclude(split="")
        .values_list("split")
        .annotate(count=Count("pk"))
        .order_by("split")
    )
    return dict(rows)


def count_images_without_split(project: Project) -> int:
    """Return the number of offered images without a split."""
    offered = Image.objects.filter(taken_down_at__isnull=True, duplicate_of__isnull=True)
    return offered.filter(project=project, split="").count()


def leakage_runs(project: Project) -> Sequence[LeakageRun]:
    """Return the latest runs, newest first."""
    return list(LeakageRun.objects.filter(project=project).select_related("created_by")[:20])


def leaked_pairs(run: LeakageRun, verdict: str | None = None) -> QuerySet[LeakedPair]:
    """Return a run's pairs, most similar first, each with its latest ``verdict``, or ``open``.

    Args:
        verdict: only pairs with this verdict.
    """
    pairs = LeakedPair.objects.filter(run=run).annotate(verdict=_newest_verdict_or_open())
    if verdict is not None:
        pairs = pairs.filter(verdict=verdict)
    return pairs.select_related("first__source_record", "second__source_record").order_by("-cosine", "pk")


def verdict_counts(run: LeakageRun) -> dict[str, int]:
    """Return the numbers of a run's pairs that are open, same and different."""
    counts = dict.fromkeys((OPEN, *(str(verdict) for verdict in LeakVerdict)), 0)
    rows = LeakedPair.objects.filter(run=run).annotate(verdict=_newest_verdict_or_open()).order_by()
    return counts | dict(rows.values_list("verdict").annotate(count=Count("pk")))


def _newest_verdict_or_open() -> Coalesce:
    """Return the latest verdict on a pair, or ``open``."""
    newest = LeakReview.objects.filter(first=OuterRef("first"), second=OuterRef("second")).order_by("-pk")
    return Coalesce(Subquery(newest.values("verdict")[:1]), Value(OPEN))


def newest_reviews(pairs: Sequence[LeakedPair]) -> dict[tuple[int, int], LeakReview]:
    """Return the latest review of each of these pairs that has one; one query."""
    condition = Q()
    for pair in pairs:
        condition |= Q(first=pair.first_id, second=pair.second_id)
    if not condition:
        return {}
    reviews = LeakReview.objects.filter(condition).select_related("by").order_by("pk")
    return {(review.first_id, review.second_id): review for review in reviews}


def newest_review(lower_pk: int, higher_pk: int) -> LeakReview | None:
    """Return the latest review of two images."""
    return LeakReview.objects.filter(first=lower_pk, second=higher_pk).order_by("-pk").first()
