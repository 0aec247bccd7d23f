"""A collection's images and regions, in one format for all collections."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hits.domain.images.polygons import Polygon

SPLITS = ("train", "val", "test")
MAX_ID_LENGTH = 200
# Number of records between two calls of ``ProgressCallback``.
PROGRESS_EVERY = 500
ProgressCallback = Callable[[int], None]
"""Called with the number of records read so far. May raise to stop."""


class MissingImagePolicy(StrEnum):
    """What to do if an image that a file names is missing."""

    REFUSE = "refuse"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class SourceRegion:
    """A region as published: ``box`` is (left, top, right, bottom) in pixels of the published image.

    ``score`` is a detector's; ``polygons`` outline the region.
    """

    id: str
    box: tuple[float, float, float, float]
    text: str
    score: float | None = None
    polygons: tuple[Polygon, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceImage:
    """One image to import.

    ``source_id``: its id in the collection. ``location``: of its record, for messages. ``width``, ``height``: pixels
    as published. ``entities``: number of objects, if the collection lists them. ``regions_at``: byte offset and
    length of its record in the file of regions, if there is one.
    """

    source_id: str
    location: str
    path: str
    url: str
    split: str
    width: int
    height: int
    credit: str = ""
    entities: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    regions_at: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """The checked content of a collection, before the first image is stored.

    ``left_out``: omitted images by reason. ``notes``: lines for the user. ``regions`` reads the regions of one image
    again; storing all of them would take gigabytes. ``warning``: about a probably unintended choice.
    """

    images: Sequence[SourceImage]
    left_out: Mapping[str, int]
    notes: Sequence[str]
    regions: Callable[[SourceImage], Sequence[SourceRegion]]
    warning: str = ""
