"""Images of made-up films with object lists, for tests that need counts of objects but no texts."""

from collections.abc import Sequence

from curation.models import Clip, DetectionRun, Frame, ObjectSet
from hits.domain.images.detections import DetectedObject, objects_sha256
from hits.models import Image, Project
from tests.support.many_pairs import write_images


def write_frames(project: Project, counts: Sequence[tuple[int, int]], movies: Sequence[str]) -> list[Image]:
    """Return one image for each pair of counts (people, others), a frame of its film; the files are missing."""
    images = write_images(project, range(1, len(counts) + 1))
    for image, movie in zip(images, movies, strict=True):
        write_frame(image, movie)
    run = detection_run(project)
    ObjectSet.objects.bulk_create(
        [build_object_set(image, run, *pair) for image, pair in zip(images, counts, strict=True)]
    )
    return images


def write_frame(image: Image, movie: str = "film", captions: Sequence[str] = ()) -> Frame:
    """Make an image a frame of a film."""
    clip, _ = Clip.objects.get_or_create(
        project=image.project,
        movie=movie,
        name="clip",
        defaults={"file_sha256": "0" * 64, "licence": "CC0", "origin": "made up", "is_complete": True},
    )
    shot = clip.frames.count()
    return Frame.objects.create(
        clip=clip,
        image=image,
        shot=shot,
        time_seconds=shot + 0.5,
        start_seconds=shot,
        end_seconds=shot + 1.0,
        captions=list(captions),
    )


def detection_run(project: Project, min_score: float = 0.7) -> DetectionRun:
    """Return a finished run of a made-up detector."""
    options = {"min_score": min_score}
    return DetectionRun.objects.create(project=project, detector="made-up", options=options, is_complete=True)


def build_object_set(
    image: Image, run: DetectionRun, people: int, others: int, score: float = 0.9
) -> ObjectSet:
    """Return an object list, not yet stored, of some people and some dogs, all with one score."""
    names = ["person"] * people + ["dog"] * others
    objects = [
        DetectedObject(
            name, (2.0 * n, 3.0, 2.0 * n + 8.5, 30.0), score, (((1.0, 3.0), (6.0, 3.0), (4.0, 30.0)),)
        )
        for n, name in enumerate(names)
    ]
    return ObjectSet(
        image=image,
        run=run,
        detections=[found.as_json() for found in objects],
        sha256=objects_sha256(objects),
        people=people,
        others=others,
    )
