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


def choose_photos(project: Project, kind: str, choice: ImageSelection) -> list[int]:
    """Return the ids of the photos for a launch of ``kind``.

    Raises:
        ImageSelectionError: too few photos, or an unknown name, split or source.
    """
    photos = usable_images(project) if choice.again else unused_images(project, kind)
    if choice.split:
        photos = photos.filter(split=choice.split)
    if choice.source:
        by_source = image_ids_by_source(project)
        if choice.source not in by_source:
            source_names = ", ".join(sorted(by_source)) or "none"
            raise ImageSelectionError(
                "source", f"There are no photos from {choice.source}; known: {source_names}."
            )
        photos = photos.filter(pk__in=by_source[choice.source])
    return choice.select(list(photos.values_list("pk", "name")))


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
