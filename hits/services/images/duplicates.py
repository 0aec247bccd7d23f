"""Mark near-duplicate images, which later batches leave out."""

from collections.abc import Collection, Mapping, Sequence

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import Q

from hits.models import Image, Project
from hits.services import audit
from hits.services.errors import Refused

UPDATE_BATCH_SIZE = 10_000  # rows per statement; SQLite allows 32,766 values


@transaction.atomic
def replace_duplicate_marks(
    *,
    project: Project,
    groups: Mapping[int, Sequence[int]],
    examined: Collection[int] | None = None,
    by: AbstractBaseUser | None = None,
) -> int:
    """Replace the duplicate marks of the examined images: ``groups`` maps a retained image to its duplicates.

    Examined images in no group lose their mark. Other images keep theirs, with two exceptions, so that no usable
    image is a duplicate of an unusable one. First, duplicates of a newly marked image become duplicates of the
    retained one; a later call that frees that image does not move them back, so only a call on all images is
    repeatable. Second, if a retained image is taken down, the first usable image of its group replaces it. Launched
    units do not change.

    Args:
        examined: the examined images; all of the project's if absent.

    Returns:
        the number of marked images.

    Raises:
        Refused: an image of another project, an image that was not examined, an image that is both retained and a
            duplicate, or one that is named twice.
    """
    members = _collect_duplicates(project, groups, examined)
    marked = Image.objects.filter(project=project, duplicate_of__isnull=False)
    already_marked = set(marked.values_list("pk", flat=True))
    _set_duplicate_of(
        project, list(already_marked if examined is None else already_marked.intersection(examined)), None
    )
    for retained, group in _add_marked_duplicates(project, groups).items():
        _set_duplicate_of(project, group, retained)
    for taken_down, replacement in _find_replacements(project, members).items():
        _replace_retained(project, taken_down, replacement)
    audit.record(
        project=project,
        actor=by,
        action="images.duplicates",
        kept=len(groups),
        duplicates=len(members),
    )
    return len(members)


def _collect_duplicates(
    project: Project, groups: Mapping[int, Sequence[int]], examined: Collection[int] | None
) -> list[int]:
    """Return the duplicates of all groups; raise as ``replace_duplicate_marks``."""
    members = [member for group in groups.values() for member in group]
    named = {*groups, *members}
    if len(named) != len(groups) + len(members):
        raise Refused("groups: an image is in two groups; put it into one")
    known = set(Image.objects.filter(project=project).values_list("pk", flat=True))
    if named - known:
        raise Refused(f"groups: image {min(named - known)} is not in this project")
    if examined is not None and (others := named.difference(examined)):
        raise Refused(f"groups: image {min(others)} was not examined; leave it out")
    return members


def _add_marked_duplicates(project: Project, groups: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return each group with the images that are marked as duplicates of its members."""
    retained_of = {member: kept for kept, group in groups.items() for member in group}
    extended = {kept: list(group) for kept, group in groups.items()}
    unchanged = Image.objects.filter(project=project, duplicate_of__isnull=False)
    for image, duplicate_of in unchanged.values_list("pk", "duplicate_of"):
        if duplicate_of in retained_of:
            extended[retained_of[duplicate_of]].append(image)
    return extended


def _find_replacements(project: Project, members: Sequence[int]) -> dict[int, int]:
    """Return a replacement for each taken-down image with usable duplicates: the first in its group or the oldest."""
    rank = {member: at for at, member in enumerate(members)}
    hidden = Image.objects.filter(
        project=project, taken_down_at__isnull=True, duplicate_of__taken_down_at__isnull=False
    )
    replacements: dict[int, int] = {}
    for image in sorted(hidden, key=lambda image: (rank.get(image.pk, len(rank)), image.pk)):
        assert image.duplicate_of_id is not None
        replacements.setdefault(image.duplicate_of_id, image.pk)
    return replacements


def _replace_retained(project: Project, taken_down: int, replacement: int) -> None:
    """Make a duplicate the retained image of its group; the taken-down image becomes a duplicate of it."""
    group = Image.objects.filter(project=project)
    group.filter(Q(duplicate_of=taken_down) | Q(pk=taken_down)).update(duplicate_of=replacement)
    group.filter(pk=replacement).update(duplicate_of=None)


def _set_duplicate_of(project: Project, images: Sequence[int], retained: int | None) -> None:
    """Mark images as duplicates of one image, or remove their marks."""
    for start in range(0, len(images), UPDATE_BATCH_SIZE):
        chunk = images[start : start + UPDATE_BATCH_SIZE]
        Image.objects.filter(project=project, pk__in=chunk).update(duplicate_of_id=retained)


@transaction.atomic
def add_duplicate_marks(
    *, project: Project, retained: int, duplicates: Sequence[int], by: AbstractBaseUser | None = None
) -> int:
    """Mark images as duplicates of the retained one; all other marks stay. Repeatable.

    If ``retained`` is a duplicate, the retained image of its group is used. Duplicates of a newly marked image move
    with it, so that a mark never points at a duplicate.

    Returns:
        the key of the retained image.

    Raises:
        Refused: an image of another project, or the retained image of ``retained``'s own group.
    """
    known = {
        image.pk: image for image in Image.objects.filter(project=project, pk__in={retained, *duplicates})
    }
    if missing := {retained, *duplicates} - set(known):
        raise Refused(f"image {min(missing)} is not in this project")
    root = known[retained].duplicate_of_id or retained
    if root in duplicates:
        raise Refused(
            f"{known[root].name} is the retained photo of its group, so it cannot become a duplicate: retain it "
            f"here too, or first unmark {known[retained].name}"
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
def restore_duplicate_marks(
    *, project: Project, marks: Mapping[int, int | None], by: AbstractBaseUser | None = None
) -> int:
    """Set each image's mark to the given retained image, or to none; all other marks stay.

    If the given image is a duplicate, the retained image of its group is used. A mark that would close a circle is
    left out, and duplicates of a newly marked image move with it.

    Returns:
        the number of changed marks.

    Raises:
        Refused: an image of another project.
    """
    before = dict(Image.objects.filter(project=project).values_list("pk", "duplicate_of"))
    if missing := {*marks, *(kept for kept in marks.values() if kept is not None)} - set(before):
        raise Refused(f"image {min(missing)} is not in this project")
    after = dict(before)
    for image, retained in marks.items():
        root = None if retained is None else _resolve_root(after, retained)
        if root != image:
            after[image] = root
    moved: dict[int | None, list[int]] = {}
    for image, retained in after.items():
        root = None if retained is None else _resolve_root(after, retained)
        if root != before[image]:
            moved.setdefault(root, []).append(image)
    for root, images in moved.items():
        _set_duplicate_of(project, images, root)
    for taken_down, replacement in _find_replacements(project, []).items():
        _replace_retained(project, taken_down, replacement)
    count = sum(map(len, moved.values()))
    audit.record(project=project, actor=by, action="images.duplicates_undone", images=count)
    return count


def _resolve_root(duplicate_of: Mapping[int, int | None], image: int) -> int:
    """Return the retained image at the end of the chain of marks."""
    while (retained := duplicate_of[image]) is not None:
        image = retained
    return image


@transaction.atomic
def unmark_duplicate(*, project: Project, image: int, by: AbstractBaseUser | None = None) -> None:
    """Remove the mark of one duplicate. Repeatable.

    Raises:
        Refused: it is not in the project.
    """
    found = Image.objects.filter(project=project, pk=image)
    if not found.exists():
        raise Refused(f"image {image} is not in this project")
    if found.filter(duplicate_of__isnull=False).update(duplicate_of=None):
        audit.record(project=project, actor=by, action="images.offer_again", subject=image)
