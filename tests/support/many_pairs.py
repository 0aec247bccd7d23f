"""Very many approved pairs on very many photos, written straight into the database."""

import hashlib
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from curation.models import Pair
from hits.domain.states import AssignmentStatus, BatchState, HitState, JobState, SubmissionMatch
from hits.models import Assignment, Attempt, Batch, Hit, Image, Job, Project, Submission, Unit, Worker
from tests.support.loop import launched
from tests.support.pairs import pair_row

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
CHUNK = 2_000
WORKERS = 300
SPLITS = ("train",) * 8 + ("val", "test")


def fill_pairs(
    project: Project, photos: int, pairs: int, *, statuses: tuple[str, ...] = ("approved",)
) -> Batch:
    """Write one closed batch with a submission for each photo, and the pairs spread evenly over them.

    Photos are files of a few bytes with their right hashes. The submissions take ``statuses`` in turn.
    """
    batch, first, people = closed_batch(project)
    words = [AssignmentStatus(word.capitalize()).value for word in statuses]
    for numbers in _chunks(photos):
        images = write_images(project, range(max(1, numbers.start), numbers.stop))
        images = images if numbers.start else [first, *images]
        submissions = write_submissions(batch, images, numbers, people, words)
        _observe(images, submissions, numbers, photos, pairs)
    batch.refresh_from_db()
    return batch


def _chunks(photos: int) -> Iterator[range]:
    for start in range(0, photos, CHUNK):
        yield range(start, min(start + CHUNK, photos))


def closed_batch(project: Project) -> tuple[Batch, Image, list[Worker]]:
    """Launch and close a batch on photo 0; return it with the photo and many workers."""
    first = write_images(project, range(1))[0]
    batch = launched(project, [first])
    Batch.objects.filter(pk=batch.pk).update(state=BatchState.CLOSED)
    # No marketplace knows these HITs: a background worker must not go looking for them.
    Job.objects.filter(project=project, state=JobState.QUEUED).update(state=JobState.CANCELLED)
    people = Worker.objects.bulk_create(
        Worker(environment=batch.environment, worker_id=f"AUTHOR{project.pk}X{n:05d}") for n in range(WORKERS)
    )
    return batch, first, people


def write_images(project: Project, numbers: range) -> list[Image]:
    """Write photos as files of a few bytes with their right hashes."""
    folder = Path(settings.MEDIA_ROOT) / "images"
    folder.mkdir(parents=True, exist_ok=True)
    images = []
    for n in numbers:
        content = f"photo {project.pk} {n}".encode()
        sha256 = hashlib.sha256(content).hexdigest()
        (folder / f"{sha256}.jpg").write_bytes(content)
        images.append(
            Image(
                project=project,
                name=f"{n}.jpg",
                file=f"images/{sha256}.jpg",
                sha256=sha256,
                original_sha256=sha256,
                width=640,
                height=480,
                bytes=len(content),
                source_url=f"https://photos.example/2026/street/{n:08d}_original.jpg",
                credit="Somebody, of the collection of made-up photos",
                licence="CC BY 4.0",
                split=SPLITS[n % len(SPLITS)],
            )
        )
    return Image.objects.bulk_create(images)


def write_submissions(
    batch: Batch,
    images: list[Image],
    numbers: range,
    people: list[Worker],
    words: list[str],
    *,
    simulated: bool = False,
) -> list[Submission]:
    """Write a confirmed submission for each photo, by people and with statuses in turn."""
    units = Unit.objects.bulk_create(
        Unit(batch=batch, key=f"many{n:08d}", payload={"image": image.pk})
        for n, image in zip(numbers, images, strict=True)
    )
    Unit.images.through.objects.bulk_create(
        Unit.images.through(unit=unit, image=image) for unit, image in zip(units, images, strict=True)
    )
    hits = Hit.objects.bulk_create(
        Hit(
            unit=unit,
            environment=batch.environment,
            token=uuid.uuid4().hex,
            annotation="",
            state=HitState.LIVE,
            hit_id=f"PAIRS{unit.pk:08d}",
            max_assignments=1,
        )
        for unit in units
    )
    attempts = Attempt.objects.bulk_create(
        Attempt(hit=hit, assignment_id=f"{hit.hit_id}A1", worker=people[n % len(people)])
        for n, hit in zip(numbers, hits, strict=True)
    )
    submissions = Submission.objects.bulk_create(
        Submission(
            attempt=attempt,
            client_uuid=uuid.uuid4(),
            kind=batch.kind,
            kind_version=1,
            answer={"observations": []},
            sha256=uuid.uuid4().hex * 2,
            active_seconds=240.0,
            simulated=simulated,
        )
        for attempt in attempts
    )
    Assignment.objects.bulk_create(
        Assignment(
            hit=submission.attempt.hit,
            assignment_id=submission.attempt.assignment_id,
            worker=submission.attempt.worker,
            status=words[n % len(words)],
            match=SubmissionMatch.MATCHED,
            submission=submission,
            answer_xml="",
            accepted_at=START,
            submitted_at=START,
            synced_at=START,
        )
        for n, submission in zip(numbers, submissions, strict=True)
    )
    return submissions


def _observe(
    images: list[Image], submissions: list[Submission], numbers: range, photos: int, pairs: int
) -> None:
    rows = []
    for n, image, submission in zip(numbers, images, submissions, strict=True):
        # Photo n has the pairs from n · pairs / photos on, so that their counts differ by one at most.
        for index, key in enumerate(range(n * pairs // photos, (n + 1) * pairs // photos), start=1):
            rows.append(
                pair_row(
                    instance_id=hashlib.sha256(f"{image.project_id} {key}".encode()).hexdigest()[:32],
                    submission=submission,
                    image=image,
                    index=index,
                    clue=f"wet umbrellas by door number {key}",
                    inference=f"it rained a while ago, and {key % 97} people came in",
                    confidence=1 + key % 3,
                    boxes=[{"left": 10, "top": 20, "width": 100 + key % 200, "height": 80, "label": 1}],
                )
            )
    Pair.objects.bulk_create(rows)
