"""Images of made-up films with object lists, for tests that need counts of objects but no texts."""

from collections.abc import Sequence

from curation.models import Clip, DetectionRun, Frame, ObjectSet
from hits.domain.images.detections import DetectedObject, objects_sha256
from hits.models import Image, Project
from tests.support.many_pairs import write_images


def write_frames(project: Project, counts: Sequence[tuple[int, int]], movies: Sequence[str]) -> list[Image]:
    """Return one image for each pair of counts (people, others), a frame of its film; the files are missing."""
    images = write_images(project, range(1, len(counts) + 1))
    clips = {movie: _clip(project, movie) for movie in sorted(set(movies))}
    rows = zip(images, movies, strict=True)
    Frame.objects.bulk_create([_build_frame(clips[movie], image, n) for n, (image, movie) in enumerate(rows)])
    run = detection_run(project)
    ObjectSet.objects.bulk_create(
        [build_object_set(image, run, *pair) for image, pair in zip(images, counts, strict=True)]
    )
    return images


def write_frame(image: Image, movie: str = "film", captions: Sequence[str] = ()) -> Frame:
    """Make an image a frame of a film."""
    clip = _clip(image.project, movie)
    frame = _build_frame(clip, image, clip.frames.count(), captions)
    frame.save()
    return frame


def _clip(project: Project, movie: str) -> Clip:
    facts = {"file_sha256": "0" * 64, "licence": "CC0", "origin": "made up", "is_complete": True}
    return Clip.objects.get_or_create(project=project, movie=movie, name="clip", defaults=facts)[0]


def _build_frame(clip: Clip, image: Image, shot: int, captions: Sequence[str] = ()) -> Frame:
    times = {"time_seconds": shot + 0.5, "start_seconds": shot, "end_seconds": shot + 1.0}
    return Frame(clip=clip, image=image, shot=shot, captions=list(captions), **times)


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
