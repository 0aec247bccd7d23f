"""Queries on detections of objects: runs, images without objects, and images with their newest lists."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

from django.db.models import Count, Exists, OuterRef, QuerySet

from curation.interest.rules import HardRules, ObjectCounts
from curation.models import DetectionRun, Frame, ObjectSet
from curation.selectors.image_names import published_names
from curation.sources.detection_files import stem
from curation.video.names import frame_path
from hits.models import Image, Project

MAX_OBJECTS_SHOWN = 19  # the last bar counts this many or more


def detection_runs(project: Project) -> "QuerySet[DetectionRun]":
    """Return the project's runs, newest first."""
    return DetectionRun.objects.filter(project=project).select_related("created_by")


def images_without_objects(run: DetectionRun, *, last_pk: int) -> "QuerySet[Image]":
    """Return the available images, up to a row key, without an object list of this run, in order."""
    images = Image.objects.filter(project=run.project, taken_down_at__isnull=True, pk__lte=last_pk)
    return images.filter(~Exists(ObjectSet.objects.filter(run=run, image=OuterRef("pk")))).order_by("pk")


def images_with_objects(image_ids: Collection[int]) -> set[int]:
    """Return which of the images have an object list."""
    rows = ObjectSet.objects.filter(image__in=list(image_ids))
    return set(rows.values_list("image_id", flat=True).distinct())


def object_sets_of_run(run: DetectionRun) -> "QuerySet[ObjectSet]":
    """Return a run's object lists with their available images, most people first."""
    rows = ObjectSet.objects.filter(run=run, image__taken_down_at__isnull=True).select_related("image")
    return rows.order_by("-people", "-others", "-image")


def object_sets_of_image(project: Project, image_id: int) -> "QuerySet[ObjectSet]":
    """Return the object lists of an available image with their runs, newest first."""
    rows = ObjectSet.objects.filter(image=image_id, image__project=project, image__taken_down_at__isnull=True)
    return rows.select_related("image", "run").order_by("-pk")


@dataclass(frozen=True, slots=True)
class ObjectTotals:
    """The photos of a run: by their number of objects (last: 19 or more), and those that meet the hard rules."""

    images: int
    by_objects: list[int]
    meeting_rules: int


def count_images_by_objects(run: DetectionRun) -> ObjectTotals:
    """Return a run's available images by the numbers of objects that count."""
    rows = ObjectSet.objects.filter(run=run, image__taken_down_at__isnull=True).order_by()
    bins, meeting, rules = [0] * (MAX_OBJECTS_SHOWN + 1), 0, HardRules()
    for people, others, count in rows.values_list("people", "others").annotate(count=Count("pk")):
        bins[min(people + others, MAX_OBJECTS_SHOWN)] += count
        meeting += count if rules.is_met_by(ObjectCounts(people, others)) else 0
    return ObjectTotals(sum(bins), bins, meeting)


class ImageIndex:
    """Finds available images by their published path without suffix, or by a name without a folder."""

    def __init__(self, project: Project) -> None:
        images = Image.objects.filter(project=project, taken_down_at__isnull=True)
        self._sizes = {
            pk: (width, height) for pk, width, height in images.values_list("pk", "width", "height")
        }
        self._by_path = {stem(name.file): pk for pk, name in published_names(list(self._sizes)).items()}
        frames = Frame.objects.filter(image__in=images).select_related("clip")
        self._by_path |= {
            stem(frame_path(frame.clip.movie, frame.clip.name, frame.shot)): frame.image_id
            for frame in frames
        }
        self._by_name: dict[str, list[int]] = {}
        for pk, name in images.values_list("pk", "name"):
            self._by_name.setdefault(PurePosixPath(stem(name)).name, []).append(pk)

    def __len__(self) -> int:
        return len(self._sizes)

    def size(self, pk: int) -> tuple[int, int]:
        """Return the width and height of an image in pixels."""
        return self._sizes[pk]

    def find(self, name: str) -> list[int]:
        """Return the row keys of the images of this name: none, one, or several.

        A name with a folder is only found by its whole path, since several films may have a clip of one name.
        """
        exact = self._by_path.get(name)
        return [exact] if exact is not None else self._by_name.get(name, [])
