"""Select the photos of a launch."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet
from django.utils.module_loading import import_string

from hits import registry
from hits.domain.images.image_selection import ImageSelection, ImageSelectionError
from hits.models import Image, Project
from hits.selectors.images.images import unused_images, usable_images
from hits.selectors.unit_planners import planner_of


def select_photos(project: Project, kind: str, selection: ImageSelection) -> list[int]:
    """Return the ids of the photos for a launch of ``kind``.

    Raises:
        ImageSelectionError: too few photos, an unknown name, split or source, or an option of the kind's planner that
            is not possible.
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
    plannable = plannable_image_ids(project, kind, selection.options)
    rows = photos.values_list("pk", "name")
    return selection.select([row for row in rows if plannable is None or row[0] in plannable])


def plannable_image_ids(project: Project, kind: str, options: Mapping[str, Any]) -> set[int] | None:
    """Return the ids of the photos from which the kind's units can be planned; ``None`` if all can.

    Raises:
        ImageSelectionError: an option is not possible.
    """
    planner = planner_of(registry.get_kind(kind))
    return None if planner is None else planner.image_ids(project, options)


def count_photos(project: Project, kind: str, options: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of photos that the kind can use: those in no batch of it yet, and all.

    Raises:
        ImageSelectionError: an option of the kind's planner is not possible.
    """
    plannable = plannable_image_ids(project, kind, options)
    unused, usable = unused_images(project, kind), usable_images(project)
    if plannable is None:
        return unused.count(), usable.count()
    return (
        len(plannable.intersection(unused.values_list("pk", flat=True))),
        len(plannable.intersection(usable.values_list("pk", flat=True))),
    )


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
