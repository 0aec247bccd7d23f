"""Read images as plain facts."""

from collections.abc import Iterable

from django.conf import settings
from django.db.models import QuerySet

from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import HitState
from hits.models import Hit, Image, Project


def image_url(image: Image) -> str:
    """Return the absolute address of an image, on the HIT origin."""
    return f"{settings.HIT_ORIGIN}{settings.MEDIA_URL}{image.file.name}"


def facts(image: Image) -> ImageFacts:
    """Return one image as plain facts."""
    return ImageFacts(
        id=image.pk,
        url=image_url(image),
        width=image.width,
        height=image.height,
        name=image.name,
        alt=image.alt,
        credit=" · ".join(part for part in (image.credit, image.licence) if part),
    )


def facts_of(ids: Iterable[int]) -> dict[int, ImageFacts]:
    """Return images by id; one query."""
    return {image.pk: facts(image) for image in Image.objects.filter(pk__in=list(ids))}


def usable_images(project: Project) -> "QuerySet[Image]":
    """Return the project's images that are neither taken down nor marked as a duplicate, oldest first."""
    return Image.objects.filter(project=project, withdrawn_at__isnull=True, duplicate_of__isnull=True)


def usable(project: Project) -> "list[Image]":
    """Return the same as a list."""
    return list(usable_images(project))


def unused_images(project: Project, kind: str) -> "QuerySet[Image]":
    """Return the usable images that no batch of this kind has shown yet, oldest first.

    A HIT that was cancelled before it was published, as when its photo was taken down, was shown to nobody.
    """
    asked = Hit.objects.filter(unit__batch__kind=kind, unit__batch__project=project)
    shown = Image.objects.filter(units__hits__in=asked.exclude(state=HitState.CANCELLED))
    return usable_images(project).exclude(pk__in=shown.values("pk"))


def unused(project: Project, kind: str) -> "list[Image]":
    """Return the same as a list."""
    return list(unused_images(project, kind))
