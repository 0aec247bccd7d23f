"""Made-up triplets as approved records of a project, with films, images and object lists in the database."""

import hashlib
from collections.abc import Sequence

from curation.models import Clip, DetectionRun, Frame, ObjectSet
from hits.domain.images.detections import DetectedObject, objects_sha256
from hits.domain.states import AssignmentStatus
from hits.models import Batch, Image, Project, Record
from tests.support.many_pairs import closed_batch, write_images, write_submissions
from tests.support.vcr.synthetic import SyntheticTriplet

KIND = "vcr_qar"
CHUNK = 2_000


def store_triplets(
    project: Project,
    triplets: Sequence[SyntheticTriplet],
    *,
    splits: bool = False,
    simulated: bool = False,
) -> list[Record]:
    """Store triplets as approved records of a vcr project and return them in order.

    Each movie is a clip, and each image a frame of it with the object list of its triplets.

    Args:
        splits: whether images have the split that the triplet's fold names; else they have none.
        simulated: whether a script wrote the submissions.
    """
    Project.objects.filter(pk=project.pk).update(family="vcr")
    project.refresh_from_db()
    by_image: dict[str, list[SyntheticTriplet]] = {}
    for triplet in triplets:
        by_image.setdefault(triplet.image, []).append(triplet)
    groups = list(by_image.values())
    batch, first, people = closed_batch(project)
    Batch.objects.filter(pk=batch.pk).update(kind=KIND)
    batch.refresh_from_db()
    run = DetectionRun.objects.create(project=project, detector="made-up", is_complete=True)
    records: dict[str, Record] = {}
    for start in range(0, len(groups), CHUNK):
        numbers = range(start, min(start + CHUNK, len(groups)))
        images = write_images(project, range(max(1, start), numbers.stop))
        images = images if start else [first, *images]
        members = [groups[n] for n in numbers]
        _store_frames(project, images, members, splits=splits)
        lists = _store_objects(run, images, members)
        approved = [AssignmentStatus.APPROVED.value]
        submissions = write_submissions(batch, images, numbers, people, approved, simulated=simulated)
        rows = [
            Record(
                project=project,
                type="triplet",
                instance_id=hashlib.sha256(f"{project.pk} {triplet.id}".encode()).hexdigest()[:32],
                submission=submission,
                index=index,
                image=image,
                fields={
                    "question": triplet.question,
                    "answer": triplet.answer,
                    "rationale": triplet.rationale,
                    "likelihood": triplet.likelihood,
                    "objects_sha256": list_hash,
                },
            )
            for image, submission, group, list_hash in zip(images, submissions, members, lists, strict=True)
            for index, triplet in enumerate(group, start=1)
        ]
        Record.objects.bulk_create(rows)
        records |= dict(zip((t.id for group in members for t in group), rows, strict=True))
    return [records[triplet.id] for triplet in triplets]


def _store_frames(
    project: Project, images: list[Image], groups: list[list[SyntheticTriplet]], *, splits: bool
) -> None:
    clips: dict[str, Clip] = {clip.movie: clip for clip in Clip.objects.filter(project=project)}
    frames, shots = [], {movie: clip.frames.count() for movie, clip in clips.items()}
    for image, group in zip(images, groups, strict=True):
        movie = group[0].movie
        if movie not in clips:
            clips[movie] = Clip.objects.create(
                project=project,
                movie=movie,
                name="clip",
                file_sha256="0" * 64,
                licence="CC0",
                origin="made up",
                is_complete=True,
            )
        shot = shots.get(movie, 0)
        shots[movie] = shot + 1
        times = {"time_seconds": shot + 0.5, "start_seconds": shot, "end_seconds": shot + 1.0}
        frames.append(Frame(clip=clips[movie], image=image, shot=shot, **times))
        image.split = group[0].fold.partition("-")[0] if splits else ""
        image.source_url = ""
    Frame.objects.bulk_create(frames)
    Image.objects.bulk_update(images, ["split", "source_url"], batch_size=500)


def _store_objects(run: DetectionRun, images: list[Image], groups: list[list[SyntheticTriplet]]) -> list[str]:
    """Store an object list for each image and return their hashes."""
    rows = []
    for image, group in zip(images, groups, strict=True):
        objects = [
            DetectedObject(name, (10.0 * n, 20.0, 10.0 * n + 60, 200.0), round(0.99 - n / 100, 2))
            for n, name in enumerate(group[0].objects)
        ]
        people = sum(name == "person" for name in group[0].objects)
        rows.append(
            ObjectSet(
                image=image,
                run=run,
                detections=[found.as_json() for found in objects],
                sha256=objects_sha256(objects),
                people=people,
                others=len(objects) - people,
            )
        )
    ObjectSet.objects.bulk_create(rows)
    return [row.sha256 for row in rows]
