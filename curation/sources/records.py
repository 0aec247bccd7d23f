"""What a collection says of its pictures, in one shape for all collections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

SPLITS = ("train", "val", "test")
MAX_ID_LENGTH = 200
# How many records are read between two calls of ``Tick``.
PROGRESS_EVERY = 500
ProgressCallback = Callable[[int], None]
"""Told how many records were read so far. May raise to stop the reading."""


class MissingPolicy(StrEnum):
    """What to do about a picture that a file names and that is not there."""

    REFUSE = "refuse"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class SourceRegion:
    """A region as published: ``box`` is (left, top, right, bottom) in pixels of the published picture."""

    id: str
    box: tuple[float, float, float, float]
    text: str


@dataclass(frozen=True, slots=True)
class SourceImage:
    """One picture to import.

    ``source_id`` is the collection's own name of it and ``place`` says where it is described, for messages.
    ``width`` and ``height`` are pixels as published. ``entities`` counts objects where the collection lists them.
    ``regions_at`` is where the regions stand: byte offset and length in a file of regions, if there is one.
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
    """Everything that was read and checked before the first picture is stored.

    ``left_out`` counts pictures by reason. ``notes`` are lines for people. ``regions`` reads the regions of one
    picture again; keeping all of them would take gigabytes. ``warning`` is what whoever asked may not have meant.
    """

    images: Sequence[SourceImage]
    left_out: Mapping[str, int]
    notes: Sequence[str]
    regions: Callable[[SourceImage], Sequence[SourceRegion]]
    warning: str = ""
