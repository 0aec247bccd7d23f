"""De-duplication of a project's images: ask for it, and keep what it found."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.dedup.cuts import ByDistance, ByFraction, ByNumber, Cut, Linkage
from curation.models import Source
from curation.selectors import duplicates
from curation.selectors.jobs import DEDUPLICATE
from curation.services.leakage import which_stays
from curation.services.sources import TITLES
from hits.models import Image, Job, Project
from hits.services import jobs
from hits.services.duplicates import add_duplicates, mark_duplicates
from hits.services.errors import Refused

KEEPS = ("random", "medoid", "largest", "first")
MIB = 2**20
MEMORY_MIB = 2048  # curation.dedup.hierarchical's own limit; that module is not for the web process
LEAST_MEMORY_MIB = 64


@dataclass(frozen=True, slots=True)
class DedupOptions:
    """How images are clustered, and who stays. Of ``clusters``, ``fraction`` (0 to 1) and ``distance`` one is set.

    The paper clusters into 80K and keeps a random member of each; linkage and metric are not stated there.
    Source: paper 000 A.2. ``distance`` is in the linkage's own unit, see ``ByDistance``. ``keep`` says who stays: a
    random member by ``seed``, the medoid, the largest in pixels, or the oldest. ``encoder`` is a name that
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

    def __post_init__(self) -> None:
        if [self.clusters, self.fraction, self.distance].count(None) != 2:  # noqa: PLR2004 - of three, one is given
            raise Refused("clusters: give either a number of clusters, a share of the images or a distance")
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
        assert self.distance is not None
        return ByDistance(self.distance)


def request_deduplication(
    *, project: Project, by: AbstractBaseUser | None, queue: bool = True, **options: Any
) -> Job:
    """Queue a de-duplication of the project's images; without ``queue`` this process runs it (``jobs.run_here``).

    ``options`` are those of ``DedupOptions``.

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
