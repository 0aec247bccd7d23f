"""Queries on film clips and their frames."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from curation.models import Clip, Frame
from hits.models import Project

MAX_SHOTS = 3_000  # a page must not read the frames of thousands of films


@dataclass(frozen=True, slots=True)
class FrameCounts:
    """The numbers of a clip's frames: all, and those that are not taken down."""

    all: int = 0
    available: int = 0


def clips_of_project(project: Project, movie: str = "") -> "QuerySet[Clip]":
    """Return the project's clips, newest first.

    movie: only clips of this film.
    """
    rows = Clip.objects.filter(project=project).select_related("created_by")
    return (rows.filter(movie=movie) if movie else rows).order_by("-pk")


def frame_counts(clips: Collection[Clip]) -> dict[int, FrameCounts]:
    """Return the numbers of frames of some clips by row key; one query."""
    available = Count("pk", filter=Q(image__taken_down_at=None))
    rows = Frame.objects.filter(clip__in=[clip.pk for clip in clips]).order_by()
    counted = rows.values_list("clip").annotate(every=Count("pk"), shown=available)
    found = {clip: FrameCounts(every, shown) for clip, every, shown in counted}
    return {clip.pk: found.get(clip.pk, FrameCounts()) for clip in clips}


def movie_names(project: Project) -> list[str]:
    """Return the films of the project's clips by name."""
    rows = Clip.objects.filter(project=project).order_by("movie")
    return list(rows.values_list("movie", flat=True).distinct())


def frames_of_clip(clip: Clip) -> "QuerySet[Frame]":
    """Return a clip's frames with their images, in order."""
    return Frame.objects.filter(clip=clip).select_related("image").order_by("shot")


def shot_seconds(project: Project) -> list[float]:
    """Return the lengths of the newest shots that gave a frame, 3,000 at most, in seconds, sorted."""
    rows = Frame.objects.filter(clip__project=project).order_by("-pk")[:MAX_SHOTS]
    return sorted(end - start for start, end in rows.values_list("start_seconds", "end_seconds"))
