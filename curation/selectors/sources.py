"""Queries on the collections that images come from."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from curation.models import Source, SourceRecord
from curation.selectors.jobs import IMPORT_SOURCE
from hits.models import Image, Job, Project

SPLITS = ("train", "val", "test", "")
MAX_ENTITIES = 19  # the last bar counts this many or more


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """The numbers of a project's images of one collection by split, in the order of ``SPLITS``."""

    source: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """The number of images in all splits."""
        return sum(self.counts)


def splits_by_source_id(project: Project, source: Source) -> dict[str, str]:
    """Return the split of each image of a collection that the project has, by the collection's id."""
    rows = SourceRecord.objects.filter(image__project=project, source=source.value)
    return dict(rows.values_list("source_id", "image__split"))


def source_records(project: Project, source: Source, ids: Iterable[str]) -> dict[str, SourceRecord]:
    """Return the source records of some of a collection's images, with the images, by the collection's id."""
    rows = SourceRecord.objects.filter(image__project=project, source=source.value, source_id__in=list(ids))
    return {row.source_id: row for row in rows.select_related("image")}


def source_labels(images: Iterable[int]) -> dict[int, str]:
    """Return the source ids, by image key, of the given images that have a record."""
    rows = SourceRecord.objects.filter(image__in=list(images))
    return {
        image: f"{source} {source_id}"
        for image, source, source_id in rows.values_list("image", "source", "source_id")
    }


def image_counts_by_source(project: Project) -> list[SourceCounts]:
    """Return the number of images of each collection by split; images without a collection are last."""
    rows = (
        Image.objects.filter(project=project, taken_down_at__isnull=True)
        .values_list("source_record__source", "split")
        .annotate(count=Count("pk"))
        .order_by()
    )
    counts: dict[str, Counter[str]] = {}
    for source, split, count in rows:
        counts.setdefault(source or "", Counter())[split if split in SPLITS else ""] += count
    ordered = [source for source in (*Source, "") if source in counts]
    return [SourceCounts(source, tuple(counts[source][split] for split in SPLITS)) for source in ordered]


def entity_histogram_and_uncounted(project: Project) -> tuple[list[int], int]:
    """Return the numbers of images with 0, 1, … entities (last: 19 or more), and of those without a count."""
    rows = (
        Image.objects.filter(project=project, taken_down_at__isnull=True)
        .values_list("entity_count")
        .annotate(count=Count("pk"))
        .order_by()
    )
    bins, without = [0] * (MAX_ENTITIES + 1), 0
    for entities, count in rows:
        if entities is None:
            without += count
        else:
            bins[min(entities, MAX_ENTITIES)] += count
    return bins, without


def latest_import_jobs(project: Project, count: int) -> Sequence[Job]:
    """Return the latest imports, newest first."""
    return list(Job.objects.filter(project=project, task=IMPORT_SOURCE).order_by("-pk")[:count])


def photo_sources(project: Project) -> "dict[str, QuerySet[SourceRecord, Any]]":
    """Return the ids of the project's photos by collection, as subqueries for ``pk__in``.

    The setting PHOTO_SOURCES names this function; launches use it to select photos.
    """
    rows = SourceRecord.objects.filter(image__project=project)
    names = rows.order_by("source").values_list("source", flat=True).distinct()
    return {name: rows.filter(source=name).values("image") for name in names}
