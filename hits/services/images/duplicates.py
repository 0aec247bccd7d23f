"""Mark images that are near-duplicates of others, so that later batches leave them out."""

from collections.abc import Collection, Mapping, Sequence

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Q

from hits.models import Image, Project
from hits.services import audit
from hits.services.errors import Refused

AT_ONCE = 10_000  # SQLite takes 32,766 values in a statement


@transaction.atomic
def mark_duplicates(
    *,
    project: Project,
    groups: Mapping[int, Sequence[int]],
    among: Collection[int] | None = None,
    by: AbstractBaseUser | None = None,
) -> int:
    """Replace the marks of the images looked at: each key is an image that is kept, its value the duplicates of it.

    Images in no group lose an earlier mark. Those that were not looked at keep theirs, with two exceptions, so that
    no image on hand stands behind one that is not offered. What stood behind a newly marked image follows it to the
    one kept; a later call that frees that image leaves the follower where it is, so that only a call on all images is
    repeatable. And the place of an image that was withdrawn, also since it was looked at, goes to the first of its
    group that stands. Units that were launched stay as they are.

    Args:
        among: the images that were looked at; all of the project's when absent.

    Returns:
        how many images the groups mark.

    Raises:
        Refused: an image of another project or that was not looked at, one that is both kept and a duplicate, or
            one that is named twice.
    """
    members = _members(project, groups, among)
    marked = Image.objects.filter(project=project, duplicate_of__isnull=False)
    earlier = set(marked.values_list("pk", flat=True))
    _put_behind(project, list(earlier if among is None else earlier.intersection(among)), None)
    for kept, group in _with_followers(project, groups).items():
        _put_behind(project, group, kept)
    for withdrawn, heir in _heirs(project, members).items():
        _hand_over(project, withdrawn, heir)
    audit.record(
        project=project,
        actor=by,
        action="images.duplicates",
        kept=len(groups),
        duplicates=len(members),
    )
    return len(members)


def _members(
    project: Project, groups: Mapping[int, Sequence[int]], among: Collection[int] | None
) -> list[int]:
    """The duplicates of all groups. Raises as ``mark_duplicates`` does."""
    members = [member for group in groups.values() for member in group]
    named = {*groups, *members}
    if len(named) != len(groups) + len(members):
        raise Refused("groups: an image stands in two groups; put each into one")
    known = set(Image.objects.filter(project=project).values_list("pk", flat=True))
    if named - known:
        raise Refused(f"groups: image {min(named - known)} is not in this project")
    if among is not None and (others := named.difference(among)):
        raise Refused(f"groups: image {min(others)} is not among those that were looked at; leave it out")
    return members


def _with_followers(project: Project, groups: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Each group with the images that stand behind one of its members by a mark that was left."""
    kept_of = {member: kept for kept, group in groups.items() for member in group}
    followed = {kept: list(group) for kept, group in groups.items()}
    left = Image.objects.filter(project=project, duplicate_of__isnull=False)
    for image, behind in left.values_list("pk", "duplicate_of"):
        if behind in kept_of:
            followed[kept_of[behind]].append(image)
    return followed


def _heirs(project: Project, members: Sequence[int]) -> dict[int, int]:
    """Each withdrawn image that others on hand stand behind, with its heir: first of its group, else the oldest."""
    place = {member: at for at, member in enumerate(members)}
    hidden = Image.objects.filter(
        project=project, withdrawn_at__isnull=True, duplicate_of__withdrawn_at__isnull=False
    )
    heirs: dict[int, int] = {}
    for image in sorted(hidden, key=lambda image: (place.get(image.pk, len(place)), image.pk)):
        assert image.duplicate_of_id is not None
        heirs.setdefault(image.duplicate_of_id, image.pk)
    return heirs


def _hand_over(project: Project, withdrawn: int, heir: int) -> None:
    """Let one duplicate take the place of the image that it stood behind, which now stands behind it as others do."""
    group = Image.objects.filter(project=project)
    group.filter(Q(duplicate_of=withdrawn) | Q(pk=withdrawn)).update(duplicate_of=heir)
    group.filter(pk=heir).update(duplicate_of=None)


def _put_behind(project: Project, images: Sequence[int], kept: int | None) -> None:
    """Mark images as duplicates of one, or take their marks off; as many at once as a statement holds."""
    for start in range(0, len(images), AT_ONCE):
        few = images[start : start + AT_ONCE]
        Image.objects.filter(project=project, pk__in=few).update(duplicate_of_id=kept)


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
def restore_marks(
    *, project: Project, marks: Mapping[int, int | None], by: AbstractBaseUser | None = None
) -> int:
    """Put each image behind the one named beside it, or behind none; all other marks stay.

    Where the image named is a duplicate by now, the one that it stands behind is the one kept. An image that the one
    named stands behind by now stays as it is, and what stands behind an image that is marked here follows it.

    Returns:
        how many images stand elsewhere now.

    Raises:
        Refused: an image of another project.
    """
    before = dict(Image.objects.filter(project=project).values_list("pk", "duplicate_of"))
    if missing := {*marks, *(kept for kept in marks.values() if kept is not None)} - set(before):
        raise Refused(f"image {min(missing)} is not in this project")
    after = dict(before)
    for image, kept in marks.items():
        root = None if kept is None else _root(after, kept)
        if root != image:
            after[image] = root
    moved: dict[int | None, list[int]] = {}
    for image, kept in after.items():
        root = None if kept is None else _root(after, kept)
        if root != before[image]:
            moved.setdefault(root, []).append(image)
    for root, images in moved.items():
        _put_behind(project, images, root)
    for withdrawn, heir in _heirs(project, []).items():
        _hand_over(project, withdrawn, heir)
    count = sum(map(len, moved.values()))
    audit.record(project=project, actor=by, action="images.duplicates_undone", images=count)
    return count


def _root(behind: Mapping[int, int | None], image: int) -> int:
    """The image that one stands behind at last, itself when it is behind none."""
    while (kept := behind[image]) is not None:
        image = kept
    return image


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
