"""Queries on groups of near-duplicate photos: the marked groups, and those that a run would mark."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from curation.dedup.groups import divide_group
from curation.models import DuplicateRun, DuplicateRunState, LeakReview, LeakVerdict
from hits.models import AuditEvent, Image, Project


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Photos (row keys) that a run considers near-duplicates.

    pair, cosine: the least similar pair and its similarity; ``None`` if a decision has removed one of the two.
    """

    kept: int
    members: Sequence[int]
    pair: tuple[int, int] | None
    cosine: float | None


@dataclass(frozen=True, slots=True)
class SetAsidePreview:
    """The effect of setting a run's photos aside.

    groups: least similar first. to_set_aside: number of photos that would be set aside; already_set_aside: number of
    these that already are. to_reoffer: number of photos that are set aside now and would be available again.
    """

    groups: Sequence[DuplicateGroup]
    to_set_aside: int
    already_set_aside: int
    to_reoffer: int


def count_images(project: Project, source: str = "") -> int:
    """Return the number of the project's images that were not taken down, including duplicates.

    Args:
        source: only images of this collection, a value of ``Source``.
    """
    images = Image.objects.filter(project=project, taken_down_at__isnull=True)
    return (images.filter(source_record__source=source) if source else images).count()


def count_images_by_source(project: Project) -> dict[str, int]:
    """Return the number of available images of each collection that has any, ordered by its name."""
    images = Image.objects.filter(project=project, taken_down_at__isnull=True, source_record__isnull=False)
    rows = images.order_by("source_record__source").values_list("source_record__source")
    return dict(rows.annotate(count=Count("pk")))


def offered_image_ids(project: Project) -> set[int]:
    """Return the keys of the available images that are not duplicates."""
    offered = Image.objects.filter(project=project, taken_down_at__isnull=True, duplicate_of__isnull=True)
    return set(offered.values_list("pk", flat=True))


def reoffered_image_ids(project: Project) -> set[int]:
    """Return the keys of the offered images whose mark as a duplicate was removed individually."""
    events = AuditEvent.objects.filter(project=project, action="images.offer_again")
    return offered_image_ids(project) & {int(subject) for subject in events.values_list("subject", flat=True)}


def pairs_marked_same(project: Project) -> list[tuple[Image, Image]]:
    """Return the pairs of images that people reviewed as the same, at least one of them set aside, in fixed order.

    The newest review of a pair counts, as in ``curation.selectors.leakage.newest_review``.
    """
    newest = _newest_reviews(project)
    same = [newest[pair] for pair in sorted(newest) if newest[pair].verdict == LeakVerdict.SAME]
    pairs = [(review.first, review.second) for review in same]
    return [pair for pair in pairs if any(image.duplicate_of_id for image in pair)]


def pairs_marked_different(project: Project) -> set[tuple[int, int]]:
    """Return the pairs of images (row keys, the lower first) that people reviewed as different."""
    newest = _newest_reviews(project)
    return {pair for pair, review in newest.items() if review.verdict == LeakVerdict.DIFFERENT}


def _newest_reviews(project: Project) -> dict[tuple[int, int], LeakReview]:
    reviews = LeakReview.objects.filter(first__project=project).select_related("first", "second")
    return {(review.first_id, review.second_id): review for review in reviews.order_by("pk")}


def latest_run(project: Project, state: DuplicateRunState | None = None) -> DuplicateRun | None:
    """Return the project's newest de-duplication, optionally the newest in a given state."""
    runs = DuplicateRun.objects.filter(project=project)
    return (runs if state is None else runs.filter(state=state)).order_by("-pk").first()


def current_groups(run: DuplicateRun) -> list[DuplicateGroup]:
    """Return a run's groups after people's decisions, least similar first."""
    different, found = pairs_marked_different(run.project), []
    for group in run.groups:
        for kept, members in divide_group(group["kept"], group["members"], different):
            is_whole = set(group["pair"]) <= {kept, *members}
            pair = (group["pair"][0], group["pair"][1])
            known = (pair, group["cosine"]) if is_whole else (None, None)
            found.append(DuplicateGroup(kept, members, *known))
    return sorted(found, key=lambda group: (1 if group.cosine is None else group.cosine, group.kept))


def preview_run(run: DuplicateRun) -> SetAsidePreview:
    """Return the effect of setting a run's photos aside now."""
    groups = current_groups(run)
    to_set_aside = {member for group in groups for member in group.members}
    marked = set(images_marked_as_duplicates(run.project).values_list("pk", flat=True))
    return SetAsidePreview(
        groups,
        len(to_set_aside),
        len(to_set_aside & marked),
        len(marked.intersection(run.compared_images) - to_set_aside),
    )


def images_marked_as_duplicates(project: Project) -> "QuerySet[Image]":
    """Return the available images that are marked as duplicates of another."""
    return Image.objects.filter(project=project, taken_down_at__isnull=True, duplicate_of__isnull=False)


def kept_ids_by_duplicate(project: Project) -> dict[int, int]:
    """Return the kept image of each marked image of the project, including those taken down."""
    rows = Image.objects.filter(project=project, duplicate_of__isnull=False)
    return {pk: first for pk, first in rows.values_list("pk", "duplicate_of") if first is not None}


def kept_images(project: Project) -> "QuerySet[Image]":
    """Return the kept images, each with ``others``, its duplicates; largest groups first."""
    others = Count("duplicates", filter=Q(duplicates__taken_down_at__isnull=True))
    return (
        Image.objects.filter(project=project)
        .annotate(others=others)
        .filter(others__gt=0)
        .order_by("-others", "pk")
    )


def duplicates_of(kept: Iterable[Image]) -> dict[int, list[Image]]:
    """Return each kept image's duplicates by its key, oldest first; one query."""
    groups: dict[int, list[Image]] = {image.pk: [] for image in kept}
    rows = Image.objects.filter(duplicate_of__in=list(groups), taken_down_at__isnull=True).order_by("pk")
    for row in rows:
        assert row.duplicate_of_id is not None
        groups[row.duplicate_of_id].append(row)
    return groups


def group_counts_by_size(project: Project) -> "Counter[int]":
    """Return the number of groups of each size, including the kept image."""
    counted = (
        images_marked_as_duplicates(project).order_by().values("duplicate_of").annotate(others=Count("pk"))
    )
    return Counter(1 + others for others in counted.values_list("others", flat=True))
