"""Queries on a project's images, for curation."""

from hits.models import Image, Project


def available_images(project: Project, source: str = "") -> list[Image]:
    """Return all images that were not taken down, including duplicates, oldest first.

    Args:
        source: only images of this collection, a value of ``Source``.
    """
    images = Image.objects.filter(project=project, taken_down_at__isnull=True)
    if source:
        images = images.filter(source_record__source=source)
    return list(images.order_by("pk"))


def duplicate_groups(project: Project) -> list[tuple[Image, list[Image]]]:
    """Return each kept image with its duplicates."""
    groups: dict[int, list[Image]] = {}
    marked = Image.objects.filter(
        project=project, taken_down_at__isnull=True, duplicate_of__isnull=False
    ).select_related("duplicate_of")
    kept: dict[int, Image] = {}
    for image in marked.order_by("duplicate_of", "pk"):
        assert image.duplicate_of is not None
        kept[image.duplicate_of.pk] = image.duplicate_of
        groups.setdefault(image.duplicate_of.pk, []).append(image)
    return [(kept[pk], members) for pk, members in groups.items()]
