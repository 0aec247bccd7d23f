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
