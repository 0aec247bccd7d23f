"""Read the groups of near-duplicates that a project's photos are marked with, a page at a time."""

from collections import Counter
from collections.abc import Iterable

from django.db.models import Count, Q, QuerySet

from hits.models import Image, Project


def standing(project: Project) -> int:
    """Return how many of the project's images were not taken down, duplicates included."""
    return Image.objects.filter(project=project, withdrawn_at__isnull=True).count()


def marked(project: Project) -> "QuerySet[Image]":
    """Return the images that stand and are marked as another's duplicate."""
    return Image.objects.filter(project=project, withdrawn_at__isnull=True, duplicate_of__isnull=False)


def kept_images(project: Project) -> "QuerySet[Image]":
    """Return the images that stand for a group, each with ``others``, its duplicates; largest groups first."""
    others = Count("duplicates", filter=Q(duplicates__withdrawn_at__isnull=True))
    return (
        Image.objects.filter(project=project)
        .annotate(others=others)
        .filter(others__gt=0)
        .order_by("-others", "pk")
    )


def duplicates_of(kept: Iterable[Image]) -> dict[int, list[Image]]:
    """Return each kept image's duplicates by its key, oldest first; one query."""
    groups: dict[int, list[Image]] = {image.pk: [] for image in kept}
    rows = Image.objects.filter(duplicate_of__in=list(groups), withdrawn_at__isnull=True).order_by("pk")
    for row in rows:
        assert row.duplicate_of_id is not None
        groups[row.duplicate_of_id].append(row)
    return groups


def group_sizes(project: Project) -> "Counter[int]":
    """Return how many groups there are of each size, the kept image counted in."""
    counted = marked(project).order_by().values("duplicate_of").annotate(others=Count("pk"))
    return Counter(1 + others for others in counted.values_list("others", flat=True))
