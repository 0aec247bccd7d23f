"""Select the photos of a launch."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet
from django.utils.module_loading import import_string

from hits.domain.images.image_selection import ImageSelection, ImageSelectionError
from hits.models import Image, Project
from hits.selectors.images.images import unused_images, usable_images


def select_photos(project: Project, kind: str, selection: ImageSelection) -> list[int]:
    """Return the ids of the photos for a launch of ``kind``.

    Raises:
        ImageSelectionError: too few photos, or an unknown name, split or source.
    """
    photos = usable_images(project) if selection.again else unused_images(project, kind)
    if selection.split:
        photos = photos.filter(split=selection.split)
    if selection.source:
        by_source = image_ids_by_source(project)
        if selection.source not in by_source:
            source_names = ", ".join(sorted(by_source)) or "none"
            raise ImageSelectionError(
                "source", f"There are no photos from {selection.source}; known sources: {source_names}."
            )
        photos = photos.filter(pk__in=by_source[selection.source])
    return selection.select(list(photos.values_list("pk", "name")))


def count_photos_by_split(project: Project) -> list[tuple[str, int]]:
    """Return the splits of the project's usable photos with their counts."""
    rows = usable_images(project).exclude(split="").values_list("split").annotate(Count("pk"))
    return [(split, count) for split, count in rows.order_by("split")]


def image_ids_by_source(project: Project) -> "Mapping[str, QuerySet[Image, Any]]":
    """Return photo ids by source collection; empty without the setting ``PHOTO_SOURCES``."""
    return _sources_function()(project) if settings.PHOTO_SOURCES else {}


@cache
def _sources_function() -> Any:
    return import_string(settings.PHOTO_SOURCES)
