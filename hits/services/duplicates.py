"""Mark images that are near-duplicates of others, so that later batches leave them out."""

from collections.abc import Mapping, Sequence

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.models import Image, Project
from hits.services import audit
from hits.services.errors import Refused


def mark_duplicates(
    *, project: Project, groups: Mapping[int, Sequence[int]], by: AbstractBaseUser | None = None
) -> int:
    """Replace the project's marks: each key is an image that is kept, its value the duplicates of it.

    Repeatable; images in no group lose an earlier mark. Units that were launched stay as they are.

    Returns:
        how many images are marked now.

    Raises:
        Refused: an image of another project, or one that is both kept and a duplicate, or named twice.
    """
    members = [member for group in groups.values() for member in group]
    if len(set(members)) != len(members) or set(members) & set(groups):
        raise Refused("groups: an image stands in two groups; put each into one")
    named = {*groups, *members}
    known = set(Image.objects.filter(project=project, pk__in=named).values_list("pk", flat=True))
    if named - known:
        raise Refused(f"groups: image {min(named - known)} is not in this project")
    with transaction.atomic():
        Image.objects.filter(project=project, duplicate_of__isnull=False).update(duplicate_of=None)
        for kept, group in groups.items():
            Image.objects.filter(project=project, pk__in=list(group)).update(duplicate_of_id=kept)
        audit.record(
            project=project,
            actor=by,
            action="images.duplicates",
            kept=len(groups),
            duplicates=len(members),
        )
    return len(members)


@transaction.atomic
def add_duplicates(
    *, project: Project, kept: int, duplicates: Sequence[int], by: AbstractBaseUser | None = None
) -> int:
    """Mark images as duplicates of one that is kept; all other marks stay. Repeatable.

    When ``kept`` is a duplicate itself, the image that it stands behind is the one kept, and duplicates of a newly
    marked image follow it, so that a mark never points at an image that is not offered.

    Returns:
        the key of the image that is kept.

    Raises:
        Refused: an image of another project, or one that the kept one stands behind.
    """
    known = {image.pk: image for image in Image.objects.filter(project=project, pk__in={kept, *duplicates})}
    if missing := {kept, *duplicates} - set(known):
        raise Refused(f"image {min(missing)} is not in this project")
    root = known[kept].duplicate_of_id or kept
    if root in duplicates:
        raise Refused(
            f"{known[root].name} is the one kept of its group; keep it here too, or offer the other again"
        )
    Image.objects.filter(project=project, duplicate_of__in=list(duplicates)).update(duplicate_of=root)
    Image.objects.filter(project=project, pk__in=list(duplicates)).update(duplicate_of=root)
    audit.record(
        project=project,
        actor=by,
        action="images.duplicates",
        subject=root,
        kept=1,
        duplicates=len(duplicates),
    )
    return root


@transaction.atomic
def offer_again(*, project: Project, image: int, by: AbstractBaseUser | None = None) -> None:
    """Take the mark of one duplicate off. Repeatable.

    Raises:
        Refused: it is not in the project.
    """
    found = Image.objects.filter(project=project, pk=image)
    if not found.exists():
        raise Refused(f"image {image} is not in this project")
    if found.filter(duplicate_of__isnull=False).update(duplicate_of=None):
        audit.record(project=project, actor=by, action="images.offer_again", subject=image)
