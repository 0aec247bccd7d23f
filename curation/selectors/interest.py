"""What people think of images: verdicts from the writing task, from the judging task, and from researchers.

A verdict is 1 (interesting), 0 (okay) or -1 (boring). Source: Zellers et al. 2019 §B.2.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Exists, Max, OuterRef, QuerySet

from curation.interest.labels import Verdict, targets, verdict_sums
from curation.models import InterestLabel, ObjectSet
from hits.models import Image, Project
from hits.selectors.images.images import usable_images
from hits.selectors.records import approved_records
from validation.domain.judging.spec import Material
from validation.registry import spec_for_material
from validation.selectors.quality import CACHE_SECONDS, answers_fingerprint
from validation.selectors.ratings import read_judgments

INTEREST_RECORD = "interest"  # the type of the records that writing tasks give
WRITING, JUDGING, RESEARCHERS = "writing tasks", "judging tasks", "researchers"
SOURCES = (WRITING, JUDGING, RESEARCHERS)


def interest_verdicts(project: Project) -> dict[int, list[int]]:
    """Return the verdicts of the workers who wrote about each image, by image id, one for each worker.

    The verdicts of an image are in the order in which its workers first submitted; a worker's newest verdict counts.
    They are the published ``interesting_scores``. Images without an approved submission are missing.
    """
    found: dict[int, dict[int, int]] = {}
    rows = approved_records(project, INTEREST_RECORD)
    fields = rows.values_list("image_id", "submission__attempt__worker_id", "fields__verdict")
    for image, worker, verdict in fields.iterator(chunk_size=5000):
        found.setdefault(image, {})[worker] = verdict
    return {image: list(by_worker.values()) for image, by_worker in found.items()}


def all_verdicts(project: Project) -> list[Verdict]:
    """Return every verdict on the project's images that were not taken down, in the order of ``SOURCES``."""
    available = set(
        Image.objects.filter(project=project, taken_down_at__isnull=True).values_list("pk", flat=True)
    )
    return [verdict for verdict in _read_verdicts(project) if verdict.image in available]


def _read_verdicts(project: Project) -> Iterator[Verdict]:
    yield from _verdicts_of_records(project)
    yield from _verdicts_of_judgments(project)
    yield from _verdicts_of_researchers(project)


def _verdicts_of_records(project: Project) -> Iterator[Verdict]:
    rows = approved_records(project, INTEREST_RECORD).values_list(
        "image_id",
        "submission__attempt__worker_id",
        "fields__verdict",
        "submission__assignment__submitted_at",
    )
    for image, worker, verdict, at in rows.iterator(chunk_size=5000):
        yield Verdict(image, f"w{worker}", verdict, WRITING, at)


def _verdicts_of_judgments(project: Project) -> Iterator[Verdict]:
    spec = spec_for_material(Material.IMAGES)
    for row in read_judgments(project=project, kind=spec.name):
        for _, part, verdict in spec.labels(row.answer):
            assert row.at is not None
            yield Verdict(int(part), row.rater, verdict, JUDGING, row.at)


def _verdicts_of_researchers(project: Project) -> Iterator[Verdict]:
    rows = InterestLabel.objects.filter(image__project=project).order_by("pk")
    for image, by, verdict, at in rows.values_list("image_id", "by_id", "verdict", "at").iterator():
        yield Verdict(image, f"member {by}", verdict, RESEARCHERS, at)


def images_with_objects(project: Project) -> "QuerySet[Image]":
    """Return the project's usable images that have an object list, oldest first."""
    return usable_images(project).filter(Exists(ObjectSet.objects.filter(image=OuterRef("pk"))))


# A researcher's own labels


def images_to_label(project: Project, person: Any, count: int) -> list[Image]:
    """Return the next images with objects that this person has not labelled; films are mixed, in a fixed order."""
    own = InterestLabel.objects.filter(image=OuterRef("pk"), by=person)
    # The hash of a file is as good as a drawn number, and needs no column of its own.
    return list(images_with_objects(project).filter(~Exists(own)).order_by("sha256", "pk")[:count])


def newest_label(image: Image, person: Any) -> InterestLabel | None:
    """Return this person's newest label of an image."""
    return InterestLabel.objects.filter(image=image, by=person).order_by("pk").last()


def last_labelled_image(project: Project, person: Any) -> Image | None:
    """Return the image that this person labelled last."""
    rows = InterestLabel.objects.filter(image__project=project, by=person).select_related("image")
    label = rows.order_by("pk").last()
    return None if label is None else label.image


def count_labelled_images(project: Project, person: Any) -> int:
    """Return the number of images that this person has labelled."""
    rows = InterestLabel.objects.filter(image__project=project, by=person)
    return int(rows.aggregate(n=Count("image", distinct=True))["n"])


def verdict_counts(verdicts: list[Verdict]) -> dict[str, int]:
    """Return the number of verdicts from each source."""
    counts = Counter(verdict.source for verdict in verdicts)
    return {source: counts[source] for source in SOURCES}


@dataclass(frozen=True, slots=True)
class LabelSummary:
    """The numbers of images with a clear verdict, and of verdicts by source."""

    interesting: int
    boring: int
    by_source: dict[str, int]

    @property
    def verdicts(self) -> int:
        """The number of all verdicts."""
        return sum(self.by_source.values())


def label_summary(project: Project) -> LabelSummary:
    """Return the summary of a project's verdicts, cached until one is added or an image is taken down."""
    labels = InterestLabel.objects.filter(image__project=project).aggregate(n=Count("pk"), last=Max("pk"))
    approved = approved_records(project, INTEREST_RECORD).order_by().count()
    numbers = [*answers_fingerprint(project), *labels.values(), approved]
    key = f"interest-labels:{project.pk}:{':'.join(map(str, numbers))}"
    cached: LabelSummary | None = cache.get(key)
    if cached is None:
        cached = _summarize_labels(all_verdicts(project))
        cache.set(key, cached, CACHE_SECONDS)
    return cached


def _summarize_labels(verdicts: list[Verdict]) -> LabelSummary:
    labelled = targets(verdict_sums(verdicts))
    interesting = sum(labelled.values())
    return LabelSummary(interesting, len(labelled) - interesting, verdict_counts(verdicts))
