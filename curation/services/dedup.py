"""De-duplication of a project's images: ask for it, and keep what it found."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from curation.dedup.cuts import ByDistance, ByFraction, ByNumber, Cut, Linkage
from curation.selectors.duplicates import standing
from curation.selectors.jobs import DEDUPLICATE
from hits.models import Job, Project
from hits.services import jobs
from hits.services.duplicates import mark_duplicates
from hits.services.errors import Refused

KEEPS = ("random", "medoid", "largest", "first")


@dataclass(frozen=True, slots=True)
class DedupOptions:
    """How images are clustered, and who stays. Of ``clusters``, ``fraction`` (0 to 1) and ``distance`` one is set.

    The paper clusters into 80K and keeps a random member of each; linkage and metric are not stated there.
    Source: paper 000 A.2. ``distance`` is in the linkage's own unit, see ``ByDistance``. ``keep`` says who stays: a
    random member by ``seed``, the medoid, the largest in pixels, or the oldest. ``encoder`` is a name that
    ``curation.features`` knows; empty is the default.
    """

    clusters: int | None = None
    fraction: float | None = None
    linkage: str = "average"
    keep: str = "random"
    seed: int = 0
    encoder: str = ""
    distance: float | None = None

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
    count = standing(project)
    if count < 2:  # noqa: PLR2004 - one image has no duplicate
        raise Refused("images: there are fewer than two; import some first")
    if chosen.clusters is not None and chosen.clusters > count:
        raise Refused(f"clusters: {chosen.clusters} asked for from {count} images; ask for 1 to {count}")
    return jobs.enqueue(
        task=DEDUPLICATE,
        title=f"De-duplicate {count} images",
        project=project,
        by=by,
        exclusive_key=f"deduplicate:{project.pk}",
        resumable=True,
        queue=queue,
        options=asdict(chosen),
    )


def store_groups(
    *, project: Project, groups: Mapping[int, Sequence[int]], by: AbstractBaseUser | None = None
) -> int:
    """Keep what a run found, through the images' own app; return how many images are now marked."""
    return mark_duplicates(project=project, groups=groups, by=by)
