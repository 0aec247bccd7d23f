"""De-duplication of a project's images: ask for it, and keep what it found."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from django.contrib.auth.models import AbstractBaseUser

from curation.selectors import DEDUPLICATE, standing_images
from hits.models import Job, Project
from hits.services import jobs
from hits.services.duplicates import mark_duplicates
from hits.services.errors import Refused

LINKAGES = ("average", "complete", "single")
KEEPS = ("random", "medoid", "first")


@dataclass(frozen=True, slots=True)
class DedupOptions:
    """How images are clustered. Exactly one of ``clusters`` (a number) and ``fraction`` (0 to 1) is set.

    The paper clusters into 80K and keeps a random member of each; linkage and metric are not stated there.
    Source: paper 000 A.2. ``encoder`` is a name that ``curation.features`` knows; empty is the default.
    """

    clusters: int | None = None
    fraction: float | None = None
    linkage: str = "average"
    keep: str = "random"
    seed: int = 0
    encoder: str = ""

    def __post_init__(self) -> None:
        if (self.clusters is None) == (self.fraction is None):
            raise Refused("clusters: give either a number of clusters or a share of the images")
        if self.clusters is not None and self.clusters < 1:
            raise Refused(f"clusters: {self.clusters} is too few; use at least 1")
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise Refused(f"share: {self.fraction:g} is not within 0 to 1; use for instance 0.8")
        if self.linkage not in LINKAGES:
            raise Refused(f"linkage: {self.linkage!r}; use {', '.join(LINKAGES)}")
        if self.keep not in KEEPS:
            raise Refused(f"keep: {self.keep!r}; use {', '.join(KEEPS)}")

    def wanted(self, images: int) -> int:
        """Return the number of clusters for so many images, at least 1."""
        if self.clusters is not None:
            return self.clusters
        assert self.fraction is not None
        return max(1, round(self.fraction * images))


def request_deduplication(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    clusters: int | None = None,
    fraction: float | None = None,
    linkage: str = "average",
    keep: str = "random",
    seed: int = 0,
    encoder: str = "",
) -> Job:
    """Queue a de-duplication of the project's images. Arguments: see ``DedupOptions``.

    Raises:
        Refused: bad options, or fewer than two images.
        Conflict: one is under way.
    """
    options = DedupOptions(clusters, fraction, linkage, keep, seed, encoder)
    count = len(standing_images(project))
    if count < 2:  # noqa: PLR2004 - one image has no duplicate
        raise Refused("images: there are fewer than two; import some first")
    if options.wanted(count) > count:
        raise Refused(f"clusters: {options.clusters} asked for from {count} images; ask for 1 to {count}")
    return jobs.enqueue(
        task=DEDUPLICATE,
        title=f"De-duplicate {count} images",
        project=project,
        by=by,
        exclusive_key=f"deduplicate:{project.pk}",
        options=asdict(options),
    )


def store_groups(
    *, project: Project, groups: Mapping[int, Sequence[int]], by: AbstractBaseUser | None = None
) -> int:
    """Keep what a run found, through the images' own app; return how many images are now marked."""
    return mark_duplicates(project=project, groups=groups, by=by)
