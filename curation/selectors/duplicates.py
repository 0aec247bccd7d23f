"""Read the groups of near-duplicates that a project's photos are marked with, a page at a time."""

from collections import Counter
from collections.abc import Iterable

from django.db.models import Count, Q, QuerySet

from curation.models import LeakReading, LeakVerdict
from hits.models import AuditEvent, Image, Project


def standing(project: Project, source: str = "") -> int:
    """Return how many of the project's images were not taken down, duplicates included.

    Args:
        source: only those of this collection, a value of ``Source``.
    """
    images = Image.objects.filter(project=project, withdrawn_at__isnull=True)
    return (images.filter(source_record__source=source) if source else images).count()


def source_sizes(project: Project) -> dict[str, int]:
    """Return how many images that stand came from each collection that there are some of, in order of its name."""
    images = Image.objects.filter(project=project, withdrawn_at__isnull=True, source_record__isnull=False)
    rows = images.order_by("source_record__source").values_list("source_record__source")
    return dict(rows.annotate(count=Count("pk")))


def on_offer(project: Project) -> set[int]:
    """Return the keys of the images that stand and are no duplicate."""
    offered = Image.objects.filter(project=project, withdrawn_at__isnull=True, duplicate_of__isnull=True)
    return set(offered.values_list("pk", flat=True))


def offered_again(project: Project) -> set[int]:
    """Return the keys of the images on offer that somebody took a mark off, one by one."""
    events = AuditEvent.objects.filter(project=project, action="images.offer_again")
    return on_offer(project) & {int(subject) for subject in events.values_list("subject", flat=True)}


def called_same(project: Project) -> list[tuple[Image, Image]]:
    """Return pairs of images that people call the same and one of which at least is set aside, in a fixed order.

    Of a pair the newest reading stands, as in ``curation.selectors.leakage.standing_verdict``.
    """
    readings = LeakReading.objects.filter(first__project=project).select_related("first", "second")
    newest = {(reading.first_id, reading.second_id): reading for reading in readings.order_by("pk")}
    same = [newest[pair] for pair in sorted(newest) if newest[pair].verdict == LeakVerdict.SAME]
    pairs = [(reading.first, reading.second) for reading in same]
    return [pair for pair in pairs if any(image.duplicate_of_id for image in pair)]


def marked(project: Project) -> "QuerySet[Image]":
    """Return the images that stand and are marked as another's duplicate."""
    return Image.objects.filter(project=project, withdrawn_at__isnull=True, duplicate_of__isnull=False)


def kept_images(project: Project) -> "QuerySet[Image]":
    """Return the images that stand for a group, each with ``others``, its duplicates; largest groups first."""
    others = Count("duplicates", filter=Q(duplicates__withdrawn_at__isnull=True))
    return (
        Image.objects.filter(project=project)
        .annotate(others=others)
        .filter(others__gt=0)
        .order_by("-others", "pk")
    )


def duplicates_of(kept: Iterable[Image]) -> dict[int, list[Image]]:
    """Return each kept image's duplicates by its key, oldest first; one query."""
    groups: dict[int, list[Image]] = {image.pk: [] for image in kept}
    rows = Image.objects.filter(duplicate_of__in=list(groups), withdrawn_at__isnull=True).order_by("pk")
    for row in rows:
        assert row.duplicate_of_id is not None
        groups[row.duplicate_of_id].append(row)
    return groups


def group_sizes(project: Project) -> "Counter[int]":
    """Return how many groups there are of each size, the kept image counted in."""
    counted = marked(project).order_by().values("duplicate_of").annotate(others=Count("pk"))
    return Counter(1 + others for others in counted.values_list("others", flat=True))
