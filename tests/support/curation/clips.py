"""Clips with frames, and object lists, as rows: without PyAV and without a model."""

from collections.abc import Sequence

from curation.models import Clip, DetectionRun, Frame, ObjectSet
from curation.services import objects
from hits.domain.images.detections import DetectedObject
from hits.models import Image, Project


def made_clip(
    project: Project, images: Sequence[Image], name: str = "arrival", movie: str = "The Moor"
) -> Clip:
    """Return a complete clip whose shots of two seconds gave these images."""
    clip = Clip.objects.create(
        project=project,
        movie=movie,
        name=name,
        file_sha256="a" * 64,
        licence="CC BY 4.0",
        origin="made for a test",
        options={"every": 1.0, "threshold": 30.0, "pixel_step": 1},
        facts={
            "width": 64,
            "height": 48,
            "frames": 48 * len(images),
            "seconds": 2.0 * len(images),
            "frames_per_second": 24.0,
            "is_rate_constant": True,
            "codec": "mpeg4",
            "container": "mov,mp4",
            "shots": len(images),
            "repeated_shots": [],
        },
        is_complete=True,
    )
    Frame.objects.bulk_create(
        Frame(
            clip=clip,
            image=image,
            shot=shot,
            time_seconds=2 * shot + 1,
            start_seconds=2 * shot,
            end_seconds=2 * shot + 2,
            captions=["Somebody opens a gate.", "<b>Rain</b> & wind."],
        )
        for shot, image in enumerate(images)
    )
    return clip


def made_objects(image: Image, *names: str, run: DetectionRun | None = None) -> ObjectSet:
    """Return an object list of an image: the named objects side by side, every second one with an outline."""
    made_run = run or DetectionRun.objects.create(
        project=image.project, detector="hf:made/up", options={"min_score": 0.7}
    )
    found = [
        DetectedObject(
            name,
            (5.0 * at, 4.0, 5.0 * at + 4, 20.0),
            0.9,
            (((5.0 * at, 4.0), (5.0 * at + 4, 4.0), (5.0 * at + 4, 20.0)),) if at % 2 else (),
        )
        for at, name in enumerate(names)
    ]
    objects.store_object_sets(run=made_run, found={image.pk: found})
    objects.complete_run(run=made_run)
    return ObjectSet.objects.get(run=made_run, image=image)
