"""De-duplicate a project's images: request a run, store its groups, and set duplicates aside."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from curation.dedup.cuts import ByDistance, ByFraction, ByNumber, Cut, Linkage
from curation.features.encoder import POOLED_ENCODER
from curation.models import DuplicateRun, DuplicateRunState, LeakReview, LeakVerdict, Source
from curation.selectors import duplicates
from curation.selectors.jobs import DEDUPLICATE
from curation.services.leakage import order_kept_first
from curation.services.sources import SOURCE_TITLES
from hits.models import Image, Job, Project
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.images.duplicates import (
    add_duplicate_marks,
    replace_duplicate_marks,
    restore_duplicate_marks,
    unmark_duplicate,
)
from hits.services.jobs import jobs

KEEP_METHODS = ("random", "medoid", "largest", "first")
MIB = 2**20
MEMORY_MIB = 2048  # the default of curation.dedup.hierarchical, which the web process must not import
MIN_MEMORY_MIB = 64
MAX_GROUP_SIZE = 60  # photos per group; each pair of them becomes a verdict
# Default maximum cosine distance of near copies. Measured for EfficientNet-lite0 on 104 COCO photographs
# (tests/benchmarks/near_copies.py): no two originals are closer than 0.26, and at least 101 copies are found (half
# size, mirrored, brighter, cropped by 5 or 12 %, JPEG quality 60). CLIP was not measured: its image vectors lie
# closer together, so its default is stricter.
NEAR_COPY_DISTANCES = {"": 0.12, POOLED_ENCODER: 0.12}
CLIP_NEAR_COPY_DISTANCE = 0.05


def near_copy_distance(encoder: str, linkage: str = Linkage.AVERAGE) -> float:
    """Return the default cut for an encoder's vectors, in the linkage's own unit."""
    distance = NEAR_COPY_DISTANCES.get(encoder, CLIP_NEAR_COPY_DISTANCE)
    return round(math.sqrt(2 * distance), 4) if linkage == Linkage.WARD else distance


@dataclass(frozen=True, slots=True)
class DedupOptions:
    """How images are clustered, and which one is kept.

    At most one of ``clusters``, ``fraction`` (0 to 1) and ``distance`` is set; without any, only near copies are
    merged (``near_copy_distance``). ``set_aside`` sets duplicates aside at once; otherwise the run ends with a
    preview, and ``set_aside_duplicates`` applies it.

    Hessel et al. 2022 §A.2 clusters into 80K and keeps a random member of each cluster; linkage and metric are not
    stated. ``distance`` is in the linkage's unit (``ByDistance``). ``keep``: the retained member: random by ``seed``,
    the medoid, the largest in pixels, or the oldest. ``encoder``: a name of ``curation.features``; empty is the
    default. ``source``: cluster only this collection, as the paper did with Visual Genome; empty is all.
    ``memory_mib``: memory limit of clustering besides vectors and program; it changes the running time, never the
    clusters, except for ties where scipy is used.
    """

    clusters: int | None = None
    fraction: float | None = None
    linkage: str = "average"
    keep: str = "random"
    seed: int = 0
    encoder: str = ""
    distance: float | None = None
    source: str = ""
    memory_mib: int = MEMORY_MIB
    set_aside: bool = False

    def __post_init__(self) -> None:
        if [self.clusters, self.fraction, self.distance].count(None) < 2:  # noqa: PLR2004 - of three, one is given
            raise Refused(
                "clusters: give only one of a number of clusters, a share of the images, or a distance"
            )
        if self.clusters is not None and self.clusters < 1:
            raise Refused(f"clusters: {self.clusters} is too few; use at least 1")
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise Refused(f"share: {self.fraction:g} is not between 0 and 1; use for instance 0.8")
        if self.distance is not None and not 0 <= self.distance < math.inf:
            raise Refused(f"distance: {self.distance:g} is not a distance; use 0 or more, for instance 0.1")
        if self.linkage not in set(Linkage):
            raise Refused(f"linkage: {self.linkage!r}; use {', '.join(Linkage)}")
        if self.keep not in KEEP_METHODS:
            raise Refused(f"keep: {self.keep!r}; use {', '.join(KEEP_METHODS)}")
        if self.seed < 0:
            raise Refused(f"seed: {self.seed} is negative; use 0 or more")
        if self.source not in {"", *Source}:
            raise Refused(f"source: {self.source!r}; use {', '.join(Source)}, or none for all photos")
        if self.memory_mib < MIN_MEMORY_MIB:
            hint = f"use at least {MIN_MEMORY_MIB}"
            raise Refused(f"memory: {self.memory_mib} MiB is too little for clustering; {hint}")

    @property
    def memory_bytes(self) -> int:
        """Memory limit of clustering."""
        return self.memory_mib * MIB

    @property
    def source_message_suffix(self) -> str:
        """The collection as a suffix for messages, such as “ of VCR”; empty for all images."""
        return f" of {SOURCE_TITLES[Source(self.source)]}" if self.source else ""

    @property
    def cut(self) -> Cut:
        """The stopping criterion of the clustering."""
        if self.clusters is not None:
            return ByNumber(self.clusters)
        if self.fraction is not None:
            return ByFraction(self.fraction)
        default = near_copy_distance(self.encoder, self.linkage)
        return ByDistance(default if self.distance is None else self.distance)


def request_deduplication(
    *, project: Project, by: AbstractBaseUser | None, queue: bool = True, **options: Any
) -> Job:
    """Queue a de-duplication of the project's images; without ``queue``, this process runs it.

    ``options`` are those of ``DedupOptions``. The job stores the distance even if it is the default.

    Raises:
        Refused: bad options, or fewer than two images.
        Conflict: one is running.
    """
    chosen = DedupOptions(**options)
    count, suffix = duplicates.count_images(project, chosen.source), chosen.source_message_suffix
    if count < 2:  # noqa: PLR2004 - one image has no duplicate
        raise Refused(f"images: there are fewer than two{suffix}; import some first")
    if chosen.clusters is not None and chosen.clusters > count:
        raise Refused(
            f"clusters: {chosen.clusters} is more than the {count} images{suffix}; use 1 to {count}"
        )
    if isinstance(chosen.cut, ByDistance):
        chosen = replace(chosen, distance=chosen.cut.distance)
    return jobs.enqueue(
        task=DEDUPLICATE,
        title=f"De-duplicate {count} photos{suffix}",
        project=project,
        by=by,
        exclusive_key=f"deduplicate:{project.pk}",
        resumable=True,
        queue=queue,
        options=asdict(chosen),
    )


@dataclass(frozen=True, slots=True)
class MarkCounts:
    """How a run changed the project's duplicate marks.

    marked: compared images that are marked now. set_aside_again: images that were set aside because of people's
    verdicts, although the groups would offer them. marked_though_offered_again: marked images that somebody had
    offered again before.
    """

    marked: int
    set_aside_again: int
    marked_though_offered_again: int


@transaction.atomic
def replace_preview(
    *,
    project: Project,
    options: DedupOptions,
    encoder: str,
    clusters: int,
    groups: Sequence[Mapping[str, Any]],
    compared_images: Sequence[int],
    by: AbstractBaseUser | None = None,
) -> DuplicateRun:
    """Store a run's groups as a preview and clear earlier previews. Marks no photo.

    Args:
        groups, compared_images: in the format of the row (``DuplicateRun``).
    """
    previews = DuplicateRun.objects.filter(project=project, state=DuplicateRunState.PREVIEW)
    previews.update(groups=[], compared_images=[])
    return DuplicateRun.objects.create(
        project=project,
        options=asdict(options),
        encoder=encoder[:200],
        clusters=clusters,
        groups=list(groups),
        compared_images=list(compared_images),
        created_by_id=by.pk if by else None,
    )


@transaction.atomic
def set_aside_duplicates(*, run: DuplicateRun, by: AbstractBaseUser | None = None) -> MarkCounts:
    """Set the photos of a preview aside, respecting people's verdicts. Idempotent.

    Raises:
        Conflict: there is a newer run, or the run was undone.
        Refused: as ``replace_duplicate_marks``.
    """
    project = run.project
    newest = duplicates.latest_run(project)
    if newest is None or newest.pk != run.pk:
        raise Conflict("there is a newer de-duplication; use that preview")
    states = DuplicateRun.objects.filter(pk=run.pk, state=DuplicateRunState.PREVIEW)
    if not states.update(state=DuplicateRunState.SET_ASIDE, decided_at=timezone.now()):
        run.refresh_from_db()
        if run.state == DuplicateRunState.UNDONE:
            raise Conflict("this run was undone; run the de-duplication again")
        return MarkCounts(**run.outcome)
    groups = {group.kept: group.members for group in duplicates.current_groups(run)}
    before = duplicates.kept_ids_by_duplicate(project)
    marks = mark_duplicate_groups(project=project, groups=groups, compared_images=run.compared_images, by=by)
    after = duplicates.kept_ids_by_duplicate(project)
    changed = {
        str(image): [before.get(image), after.get(image)]
        for image in sorted({*before, *after})
        if before.get(image) != after.get(image)
    }
    DuplicateRun.objects.filter(pk=run.pk).update(changed=changed, outcome=asdict(marks))
    run.refresh_from_db()
    return marks


@transaction.atomic
def undo_duplicates(*, run: DuplicateRun, by: AbstractBaseUser | None = None) -> int:
    """Undo the marks of a run. Idempotent.

    A photo whose mark changed since, by a person or another run, keeps its mark.

    Returns:
        the number of photos whose mark changed.

    Raises:
        Conflict: a later run's photos are set aside, or this run's never were.
    """
    newest = duplicates.latest_run(run.project, DuplicateRunState.SET_ASIDE)
    if newest is not None and newest.pk > run.pk:
        raise Conflict("a later de-duplication set photos aside; undo that run first")
    states = DuplicateRun.objects.filter(pk=run.pk, state=DuplicateRunState.SET_ASIDE)
    if not states.update(state=DuplicateRunState.UNDONE, decided_at=timezone.now()):
        run.refresh_from_db()
        if run.state == DuplicateRunState.PREVIEW:
            raise Conflict("the photos of this run were not set aside yet")
        return 0
    run.refresh_from_db()
    current = duplicates.kept_ids_by_duplicate(run.project)
    marks = ((int(image), *sides) for image, sides in run.changed.items())
    unchanged = {image: before for image, before, after in marks if current.get(image) == after}
    return restore_duplicate_marks(project=run.project, marks=unchanged, by=by)


@transaction.atomic
def mark_group_as_different(*, project: Project, images: Sequence[int], by: AbstractBaseUser) -> None:
    """Mark the photos of a group as different and offer all of them. Later runs respect this. Idempotent.

    Raises:
        Refused: fewer than two photos, more than ``MAX_GROUP_SIZE``, or one of another project.
    """
    if len(images) < 2:  # noqa: PLR2004 - one photo is no group
        raise Refused("photos: a group has two or more")
    if len(images) > MAX_GROUP_SIZE:
        raise Refused(
            f"photos: the group has {len(images)}, and at most {MAX_GROUP_SIZE} can be kept together; "
            "run again with a smaller distance"
        )
    known = set(Image.objects.filter(project=project, pk__in=images).values_list("pk", flat=True))
    if missing := set(images) - known:
        raise Refused(f"image {min(missing)} is not in this project")
    pairs = set(combinations(sorted(set(images)), 2)) - duplicates.pairs_marked_different(project)
    LeakReview.objects.bulk_create(
        [
            LeakReview(first_id=first, second_id=second, verdict=LeakVerdict.DIFFERENT, by_id=by.pk)
            for first, second in sorted(pairs)
        ]
    )
    kept_ids = duplicates.kept_ids_by_duplicate(project)
    for image in images:
        if kept_ids.get(image) in known:
            unmark_duplicate(project=project, image=image, by=by)
    if pairs:
        audit.record(project=project, actor=by, action="images.keep_all", images=len(images))


@transaction.atomic
def mark_duplicate_groups(
    *,
    project: Project,
    groups: Mapping[int, Sequence[int]],
    compared_images: Collection[int],
    by: AbstractBaseUser | None = None,
) -> MarkCounts:
    """Mark the duplicates of a run's groups, and apply people's earlier verdicts.

    If people marked two images as the same and one was set aside, at most one of them is offered: if the groups offer
    both, ``order_kept_first`` decides. An image that somebody offered again is marked only as a group's duplicate.

    Args:
        groups: kept image -> its duplicates.
        compared_images: images of the run; the marks of other images do not change.

    Raises:
        Refused: as ``replace_duplicate_marks``.
    """
    pairs, reoffered = duplicates.pairs_marked_same(project), duplicates.reoffered_image_ids(project)
    replace_duplicate_marks(project=project, groups=groups, examined=compared_images, by=by)
    set_aside_again = _apply_same_verdicts(project, pairs, reoffered, by)
    members = {member for group in groups.values() for member in group}
    marked = set(duplicates.images_marked_as_duplicates(project).values_list("pk", flat=True))
    return MarkCounts(
        marked=len(marked.intersection(compared_images)),
        set_aside_again=set_aside_again,
        marked_though_offered_again=len(reoffered & members),
    )


def _apply_same_verdicts(
    project: Project, pairs: Sequence[tuple[Image, Image]], reoffered: set[int], by: AbstractBaseUser | None
) -> int:
    """Set one image of each pair aside if the groups offer both; return how many were set aside.

    All pairs use one order of preference, so the results of two pairs never contradict each other.
    """
    offered = duplicates.offered_image_ids(project) if pairs else set()
    count = 0
    for pair in pairs:
        if not offered.issuperset(image.pk for image in pair):
            continue
        kept, duplicate = order_kept_first(*pair)
        if duplicate.pk in reoffered:
            kept, duplicate = duplicate, kept
        if Image.objects.filter(
            pk=duplicate.pk, duplicate_of__isnull=True
        ).exists():  # not set aside by an earlier pair
            add_duplicate_marks(project=project, retained=kept.pk, duplicates=[duplicate.pk], by=by)
            count += 1
    return count
