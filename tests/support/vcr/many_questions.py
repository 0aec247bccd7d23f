"""A question set of published size, written straight into the database: pages are timed on it."""

import hashlib

from curation.models import DetectionRun, ObjectSet, Question, QuestionSet, QuestionSetState, Stage
from hits.domain.images.detections import DetectedObject, objects_sha256
from hits.domain.states import AssignmentStatus
from hits.models import Batch, Image, Project, Record
from tests.support.many_pairs import closed_batch, write_images, write_submissions

FOLDS = (*(f"train-{number}" for number in range(8)), "val-0", "test-0", "blind-0")
CHUNK = 10_000
WORDS = ("rain", "table", "letter", "window", "concert", "station", "dinner", "accident")


def store_many_questions(project: Project, count: int, *, images: int = 1_000) -> QuestionSet:
    """Store ``count`` triplets, evenly in 11 folds, with a question of four choices in both stages."""
    batch, first, people = closed_batch(project)
    Batch.objects.filter(pk=batch.pk).update(kind="vcr_qar")
    batch.refresh_from_db()
    photos = [first, *write_images(project, range(1, images))]
    approved = [AssignmentStatus.APPROVED.value]
    submissions = write_submissions(batch, photos, range(images), people, approved)
    objects = [DetectedObject("person", (10.0 * n, 20.0, 10.0 * n + 60, 200.0), 0.9) for n in range(4)]
    sha256 = objects_sha256(objects)
    _store_objects(project, photos, objects, sha256)
    found = _store_set(project, count)
    pks: list[int] = []
    for start in range(0, count, CHUNK):
        rows = [
            Record(
                project=project,
                type="triplet",
                instance_id=_instance_id(project, n),
                submission=submissions[n % images],
                index=n // images,
                image=photos[n % images],
                fields=_fields(n) | {"objects_sha256": sha256},
            )
            for n in range(start, min(start + CHUNK, count))
        ]
        pks += [record.pk for record in Record.objects.bulk_create(rows, batch_size=1000)]
    for number, fold in enumerate(FOLDS):
        # As the pipeline does: fold by fold, in the order of ids, which is not that of writing.
        members = sorted(range(number, count, len(FOLDS)), key=lambda n: _instance_id(project, n))
        for stage in Stage:
            Question.objects.bulk_create(
                (
                    _question(found, stage, fold, index, len(members), n, pks[n])
                    for index, n in enumerate(members)
                ),
                batch_size=1000,
            )
    return found


def _store_objects(project: Project, photos: list[Image], objects: list[DetectedObject], sha256: str) -> None:
    run = DetectionRun.objects.create(project=project, detector="made-up", is_complete=True)
    detections = [found.as_json() for found in objects]
    ObjectSet.objects.bulk_create(
        ObjectSet(image=photo, run=run, detections=detections, sha256=sha256, people=4, others=0)
        for photo in photos
    )


def _store_set(project: Project, count: int) -> QuestionSet:
    sizes = [len(range(number, count, len(FOLDS))) for number in range(len(FOLDS))]
    folds, firsts = [], dict.fromkeys(("train", "val", "test", "blind"), 0)
    for name, size in sorted(zip(FOLDS, sizes, strict=True)):
        split = name.partition("-")[0]
        folds.append({"name": name, "split": split, "first": firsts[split], "movies": 200, "triplets": size})
        firsts[split] += size
    rounds = [
        {"round": n, "feasible": True, "total": -9.5, "gap": 1e-9, "min_reduced_cost": 0.0, "k": None}
        for n in (1, 2, 3)
    ]
    buckets = [
        {
            "stage": stage.value, "fold": name, "name": f"neutral-why-{number}", "size": 2_900, "sha256": "0" * 64,
            "rounds": rounds, "worded": 3, "set_aside": 0, "attempts": 1,
        }
        for stage in Stage
        for name in FOLDS
        for number in range(9)
    ]  # fmt: skip
    return QuestionSet.objects.create(
        project=project,
        name="published size",
        state=QuestionSetState.DRAFT,
        options={"relevance": "vectors", "similarity": "vectors"},
        figures={"triplets": count, "movies": 2_200, "folds": folds, "buckets": buckets},
        secret="0" * 64,
    )


def _fields(n: int) -> dict[str, object]:
    first, second, third = (WORDS[(n // 8**place) % 8] for place in range(3))
    return {
        "question": [f"Why does the {first} matter to ", {"objects": [n % 4]}, "?"],
        "answer": [{"objects": [(n + 1) % 4]}, f" waits for the {second} number {n}."],
        "rationale": ["There is a ", third, " behind ", {"objects": [(n + 2) % 4]}, " and nobody speaks."],
        "likelihood": "likely",
    }


def _instance_id(project: Project, n: int) -> str:
    return hashlib.sha256(f"{project.pk} {n}".encode()).hexdigest()[:32]


def _question(
    found: QuestionSet, stage: Stage, fold: str, index: int, size: int, n: int, triplet: int
) -> Question:
    split, _, part = fold.partition("-")
    choices = [
        {
            "source": (index + shift) % size, "round": shift, "text": _fields(n)[stage.value], "remapped": [[0, 1]],
            "words": [], "relevance": 0.1234, "similarity": 0.0321,
        }
        for shift in range(4)
    ]  # fmt: skip
    return Question(
        question_set=found,
        triplet_id=triplet,
        stage=stage.value,
        movie=f"film {n % 200}",
        split=split,
        annot_id=f"{split}-{int(part) * size + index}",
        question_number=n % 3,
        fold=fold,
        match_index=index,
        bucket="neutral-why-1",
        choices=choices,
        label=0,
    )
