"""Read which photos a launch can take, and take them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import Count, QuerySet
from django.utils.module_loading import import_string

from hits.domain.images.image_selection import ChoiceError, PhotoChoice
from hits.models import Image, Project
from hits.selectors.images.images import unused_images, usable_images


def choose(project: Project, kind: str, choice: PhotoChoice) -> list[int]:
    """Return the ids of the photos that a launch of ``kind`` takes.

    Raises:
        ChoiceError: fewer than asked for, an unknown name, split or source.
    """
    photos = usable_images(project) if choice.again else unused_images(project, kind)
    if choice.split:
        photos = photos.filter(split=choice.split)
    if choice.source:
        known = sources(project)
        if choice.source not in known:
            have = ", ".join(sorted(known)) or "none"
            raise ChoiceError("source", f"There are no photos from {choice.source}; known: {have}.")
        photos = photos.filter(pk__in=known[choice.source])
    return choice.of(list(photos.values_list("pk", "name")))


def splits(project: Project) -> list[tuple[str, int]]:
    """Return the splits that the project's usable photos name, with how many there are of each."""
    rows = usable_images(project).exclude(split="").values_list("split").annotate(Count("pk"))
    return [(split, count) for split, count in rows.order_by("split")]


def sources(project: Project) -> "Mapping[str, QuerySet[Image, Any]]":
    """Return the ids of photos by the collection that they came from; nothing where the setting names no source."""
    return _hook()(project) if settings.PHOTO_SOURCES else {}


@cache
def _hook() -> Any:
    return import_string(settings.PHOTO_SOURCES)
