"""De-duplication of a project's images: ask for it, and keep what it found."""

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
from curation.models import DuplicateRun, DuplicateRunState, LeakReading, LeakVerdict, Source
from curation.selectors import duplicates
from curation.selectors.jobs import DEDUPLICATE
from curation.services.leakage import which_stays
from curation.services.sources import TITLES
from hits.models import Image, Job, Project
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.images.duplicates import add_duplicates, mark_duplicates, offer_again, restore_marks
from hits.services.jobs import jobs

KEEPS = ("random", "medoid", "largest", "first")
MIB = 2**20
MEMORY_MIB = 2048  # curation.dedup.hierarchical's own limit; that module is not for the web process
LEAST_MEMORY_MIB = 64
MOST_KEPT_TOGETHER = 60  # photos of a group; each pair of them is a decision
# The greatest distance at which photos are taken for near copies when nothing else is asked for. For
# EfficientNet-lite0 it was measured on 104 COCO photographs (tests/benchmarks/near_copies.py): no two of them come
# closer than 0.26, while of copies at half size, mirrored, brighter, cropped by 5 or 12 % or saved at JPEG quality 60
# at least 101 are found. CLIP was not measured: its image vectors lie closer together, so its default is stricter.
NEAR_COPY_DISTANCES = {"": 0.12, POOLED_ENCODER: 0.12}
CLIP_NEAR_COPY_DISTANCE = 0.05


def near_copy_distance(encoder: str, linkage: str = Linkage.AVERAGE) -> float:
    """Return the default cut for an encoder's vectors, in the linkage's own unit."""
    distance = NEAR_COPY_DISTANCES.get(encoder, CLIP_NEAR_COPY_DISTANCE)
    return round(math.sqrt(2 * distance), 4) if linkage == Linkage.WARD else distance


@dataclass(frozen=True, slots=True)
class DedupOptions:
    """How images are clustered, and which one is kept.

    Of ``clusters``, ``fraction`` (0 to 1) and ``distance`` one at most is set; without any, near copies alone are
    merged (``near_copy_distance``). ``set_aside`` sets what is found aside at once; without it the run ends with a
    preview, and ``set_aside_duplicates`` is an act of its own.

    The paper clusters into 80K and keeps a random member of each; linkage and metric are not stated there.
    Source: paper 000 A.2. ``distance`` is in the linkage's own unit, see ``ByDistance``. ``keep`` names the one kept:
    a random member by ``seed``, the medoid, the largest in pixels, or the oldest. ``encoder`` is a name that
    ``curation.features`` knows; empty is the default. ``source``: only images of that collection are clustered, as
    the paper did with Visual Genome; empty stands for all. ``memory_mib`` is the most that clustering takes beside
    vectors and program; it changes the time and the way there, never the clusters, ties apart where scipy is asked.
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
                "clusters: give a number of clusters, a share of the images or a distance, not two of them"
            )
        if self.clusters is not None and self.clusters < 1:
            raise Refused(f"clusters: {self.clusters} is too few; use at least 1")
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise Refused(f"share: {self.fraction:g} is not within 0 to 1; use for instance 0.8")
        if self.distance is not None and not 0 <= self.distance < math.inf:
            raise Refused(f"distance: {self.distance:g} is none; use 0 or more, for instance 0.1")
        if self.linkage not in set(Linkage):
            raise Refused(f"linkage: {self.linkage!r}; use {', '.join(Linkage)}")
        if self.keep not in KEEPS:
            raise Refused(f"keep: {self.keep!r}; use {', '.join(KEEPS)}")
        if self.seed < 0:
            raise Refused(f"seed: {self.seed} is negative; use 0 or more")
        if self.source not in {"", *Source}:
            raise Refused(f"source: {self.source!r}; use {', '.join(Source)}, or none for all photos")
        if self.memory_mib < LEAST_MEMORY_MIB:
            raise Refused(
                f"memory: {self.memory_mib} MiB is too little for any clustering; use at least {LEAST_MEMORY_MIB}"
            )

    @property
    def memory_bytes(self) -> int:
        """What clustering may take."""
        return self.memory_mib * MIB

    @property
    def of_source(self) -> str:
        """The words that say which images are meant, to be put behind them: “ of VCR”; nothing for all."""
        return f" of {TITLES[Source(self.source)]}" if self.source else ""

    @property
    def cut(self) -> Cut:
        """Where the merging ends."""
        if self.clusters is not None:
            return ByNumber(self.clusters)
        if self.fraction is not None:
            return ByFraction(self.fraction)
        return ByDistance(
            near_copy_distance(self.encoder, self.linkage) if self.distance is None else self.distance
        )


def request_deduplication(
    *, project: Project, by: AbstractBaseUser | None, queue: bool = True, **options: Any
) -> Job:
    """Queue a de-duplication of the project's images; without ``queue`` this process runs it (``jobs.run_here``).

    ``options`` are those of ``DedupOptions``. The job's arguments say the distance even where it is the default.

    Raises:
        Refused: bad options, or fewer than two images.
        Conflict: one is under way.
    """
    chosen = DedupOptions(**options)
    count, of = duplicates.standing(project, chosen.source), chosen.of_source
    if count < 2:  # noqa: PLR2004 - one image has no duplicate
        raise Refused(f"images: there are fewer than two{of}; import some first")
    if chosen.clusters is not None and chosen.clusters > count:
        raise Refused(f"clusters: {chosen.clusters} asked for from {count} images{of}; ask for 1 to {count}")
    if isinstance(chosen.cut, ByDistance):
        chosen = replace(chosen, distance=chosen.cut.distance)
    return jobs.enqueue(
        task=DEDUPLICATE,
        title=f"De-duplicate {count} images{of}",
        project=project,
        by=by,
        exclusive_key=f"deduplicate:{project.pk}",
        resumable=True,
        queue=queue,
        options=asdict(chosen),
    )


@dataclass(frozen=True, slots=True)
class Marks:
    """What a run did to a project's marks.

    marked: how many of the images looked at are marked now. set_aside_again: images that the groups alone would
    offer beside one that people call the same. marked_though_offered_again: images in groups that somebody had
    offered again before.
    """

    marked: int
    set_aside_again: int
    marked_though_offered_again: int


@transaction.atomic
def store_preview(
    *,
    project: Project,
    options: DedupOptions,
    encoder: str,
    clusters: int,
    groups: Sequence[Mapping[str, Any]],
    looked_at: Sequence[int],
    by: AbstractBaseUser | None = None,
) -> DuplicateRun:
    """Keep what a run found, and empty earlier previews, which it takes the place of; no photo is touched.

    Args:
        groups, looked_at: as the row has them (``DuplicateRun``).
    """
    DuplicateRun.objects.filter(project=project, state=DuplicateRunState.PREVIEW).update(
        groups=[], looked_at=[]
    )
    return DuplicateRun.objects.create(
        project=project,
        options=asdict(options),
        encoder=encoder[:200],
        clusters=clusters,
        groups=list(groups),
        looked_at=list(looked_at),
        created_by_id=by.pk if by else None,
    )


@transaction.atomic
def set_aside_duplicates(*, run: DuplicateRun, by: AbstractBaseUser | None = None) -> Marks:
    """Set the photos of a preview aside, as people's decisions leave its groups by now. Repeatable.

    Raises:
        Conflict: a newer run took its place, or it was undone.
        Refused: as ``mark_duplicates``.
    """
    project = run.project
    newest = duplicates.latest_run(project)
    if newest is None or newest.pk != run.pk:
        raise Conflict("a newer de-duplication took its place; look at that one")
    states = DuplicateRun.objects.filter(pk=run.pk, state=DuplicateRunState.PREVIEW)
    if not states.update(state=DuplicateRunState.SET_ASIDE, decided_at=timezone.now()):
        run.refresh_from_db()
        if run.state == DuplicateRunState.UNDONE:
            raise Conflict("it was undone; run the de-duplication again")
        return Marks(**run.outcome)
    groups = {group.kept: group.members for group in duplicates.found_groups(run)}
    before = duplicates.marks(project)
    marks = store_groups(project=project, groups=groups, among=run.looked_at, by=by)
    after = duplicates.marks(project)
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
    """Take back what setting a run's photos aside did. Repeatable.

    A photo whose mark was changed since, by a person or another run, stays as it is.

    Returns:
        how many photos stand elsewhere now.

    Raises:
        Conflict: a later run's photos are set aside, or this one's never were.
    """
    newest = duplicates.latest_run(run.project, DuplicateRunState.SET_ASIDE)
    if newest is not None and newest.pk > run.pk:
        raise Conflict("a later de-duplication set photos aside; undo that one first")
    states = DuplicateRun.objects.filter(pk=run.pk, state=DuplicateRunState.SET_ASIDE)
    if not states.update(state=DuplicateRunState.UNDONE, decided_at=timezone.now()):
        run.refresh_from_db()
        if run.state == DuplicateRunState.PREVIEW:
            raise Conflict("none of its photos were set aside yet")
        return 0
    run.refresh_from_db()
    now = duplicates.marks(run.project)
    unchanged = {
        int(image): before for image, (before, after) in run.changed.items() if now.get(int(image)) == after
    }
    return restore_marks(project=run.project, marks=unchanged, by=by)


@transaction.atomic
def keep_all(*, project: Project, images: Sequence[int], by: AbstractBaseUser) -> None:
    """Say that the photos of a group are different ones, and offer all of them. Later runs respect it. Repeatable.

    Raises:
        Refused: fewer than two photos, more than ``MOST_KEPT_TOGETHER``, or one of another project.
    """
    if len(images) < 2:  # noqa: PLR2004 - one photo is no group
        raise Refused("photos: a group has two or more")
    if len(images) > MOST_KEPT_TOGETHER:
        raise Refused(
            f"photos: the group has {len(images)}, and {MOST_KEPT_TOGETHER} at most can be kept in one act; "
            "a smaller distance divides it"
        )
    known = set(Image.objects.filter(project=project, pk__in=images).values_list("pk", flat=True))
    if missing := set(images) - known:
        raise Refused(f"image {min(missing)} is not in this project")
    pairs = set(combinations(sorted(set(images)), 2)) - duplicates.called_different(project)
    LeakReading.objects.bulk_create(
        [
            LeakReading(first_id=first, second_id=second, verdict=LeakVerdict.DIFFERENT, by_id=by.pk)
            for first, second in sorted(pairs)
        ]
    )
    behind = duplicates.marks(project)
    for image in images:
        if behind.get(image) in known:
            offer_again(project=project, image=image, by=by)
    if pairs:
        audit.record(project=project, actor=by, action="images.keep_all", images=len(images))


@transaction.atomic
def store_groups(
    *,
    project: Project,
    groups: Mapping[int, Sequence[int]],
    among: Collection[int],
    by: AbstractBaseUser | None = None,
) -> Marks:
    """Keep what a run found, and what people decided before.

    Of two images that people call the same and one of which was set aside until now, at most one is offered again:
    where the groups offer both, the one that ``which_stays`` names is kept. An image that somebody offered again is
    marked by groups only.

    Args:
        groups: an image that is kept -> its duplicates. among: the images that the run looked at; other marks stay.

    Raises:
        Refused: as ``mark_duplicates``.
    """
    pairs, freed = duplicates.called_same(project), duplicates.offered_again(project)
    mark_duplicates(project=project, groups=groups, among=among, by=by)
    again = _set_aside_again(project, pairs, freed, by)
    members = {member for group in groups.values() for member in group}
    marked = set(duplicates.marked(project).values_list("pk", flat=True))
    return Marks(
        marked=len(marked.intersection(among)),
        set_aside_again=again,
        marked_though_offered_again=len(freed & members),
    )


def _set_aside_again(
    project: Project, pairs: Sequence[tuple[Image, Image]], freed: set[int], by: AbstractBaseUser | None
) -> int:
    """Set one of each pair aside where the run's groups offer both; return how many were.

    Who is kept follows one order in all pairs, so no image is put behind one that it is kept before.
    """
    offered = duplicates.on_offer(project) if pairs else set()
    count = 0
    for pair in pairs:
        if not offered.issuperset(image.pk for image in pair):
            continue
        kept, away = which_stays(*pair)
        if away.pk in freed:
            kept, away = away, kept
        if Image.objects.filter(pk=away.pk, duplicate_of__isnull=True).exists():  # no earlier pair's choice
            add_duplicates(project=project, kept=kept.pk, duplicates=[away.pk], by=by)
            count += 1
    return count
