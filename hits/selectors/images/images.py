"""Read images as ``ImageFacts``."""

from collections.abc import Iterable

from django.conf import settings
from django.db.models import QuerySet

from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import HitState
from hits.models import Hit, Image, Project


def image_url(image: Image) -> str:
    """Return the absolute URL of an image on the HIT origin."""
    return f"{settings.HIT_ORIGIN}{settings.MEDIA_URL}{image.file.name}"


def image_facts(image: Image) -> ImageFacts:
    """Return an image as ``ImageFacts``."""
    return ImageFacts(
        id=image.pk,
        url=image_url(image),
        width=image.width,
        height=image.height,
        name=image.name,
        alt=image.alt,
        credit=" · ".join(part for part in (image.credit, image.licence) if part),
    )


def image_facts_by_id(ids: Iterable[int]) -> dict[int, ImageFacts]:
    """Return images as ``ImageFacts`` by id; one query."""
    return {image.pk: image_facts(image) for image in Image.objects.filter(pk__in=list(ids))}


def usable_images(project: Project) -> "QuerySet[Image]":
    """Return the project's images that are neither taken down nor marked as a duplicate, oldest first."""
    return Image.objects.filter(project=project, taken_down_at__isnull=True, duplicate_of__isnull=True)


def list_usable_images(project: Project) -> "list[Image]":
    """Return ``usable_images`` as a list."""
    return list(usable_images(project))


def unused_images(project: Project, kind: str) -> "QuerySet[Image]":
    """Return the usable images that no batch of this kind has shown, oldest first.

    A HIT that was cancelled before publication, for example because its photo was taken down, does not count.
    """
    hits = Hit.objects.filter(unit__batch__kind=kind, unit__batch__project=project)
    shown = Image.objects.filter(units__hits__in=hits.exclude(state=HitState.CANCELLED))
    return usable_images(project).exclude(pk__in=shown.values("pk"))
