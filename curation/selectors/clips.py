"""Queries on film clips and their frames."""

from django.db.models import Count, Q, QuerySet

from curation.models import Clip, Frame
from curation.selectors.jobs import EXTRACT_FRAMES
from hits.models import Job, Project


def clips_of_project(project: Project, movie: str = "") -> "QuerySet[Clip]":
    """Return the project's clips with the numbers of their frames, newest first.

    movie: only clips of this film.
    """
    rows = Clip.objects.filter(project=project).select_related("created_by")
    if movie:
        rows = rows.filter(movie=movie)
    available = Count("frames", filter=Q(frames__image__taken_down_at=None))
    return rows.annotate(frame_count=Count("frames"), available_count=available).order_by("-pk")


def movie_names(project: Project) -> list[str]:
    """Return the films of the project's clips by name."""
    rows = Clip.objects.filter(project=project).order_by("movie")
    return list(rows.values_list("movie", flat=True).distinct())


def frames_of_clip(clip: Clip) -> "QuerySet[Frame]":
    """Return a clip's frames with their images, in order."""
    return Frame.objects.filter(clip=clip).select_related("image").order_by("shot")


def shot_seconds(project: Project) -> list[float]:
    """Return the lengths of the shots that gave a frame, in seconds, sorted."""
    rows = Frame.objects.filter(clip__project=project).values_list("start_seconds", "end_seconds")
    return sorted(end - start for start, end in rows.iterator(chunk_size=5000))


def newest_extraction(project: Project) -> Job | None:
    """Return the newest job that extracts frames."""
    return Job.objects.filter(project=project, task=EXTRACT_FRAMES).order_by("-pk").first()
