"""Request detections of objects, and store the object lists of images, which never change."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F

from curation.interest.rules import MIN_SCORE, count_objects
from curation.models import DetectionRun, ObjectSet
from curation.proposals.detector import (
    DEFAULT_LIMIT,
    DetectorUnavailable,
    is_model_name,
    validate_detector_name,
)
from curation.proposals.objects import PERSON_LABELS
from curation.selectors.jobs import DETECT_OBJECTS
from curation.services.proposals import FILE_PREFIX, INSERT_BATCH_SIZE, MAX_BOXES, MAX_REVISION_LENGTH
from hits.domain.images.detections import DetectedObject, objects_sha256
from hits.models import Image, Job, Project
from hits.services import audit
from hits.services.errors import Refused
from hits.services.jobs import jobs

MAX_DETECTOR_LENGTH = 120
PUBLISHED = "published metadata"  # the detector of lists that came with a collection


@dataclass(frozen=True, slots=True)
class DetectionOptions:
    """How objects are detected.

    detector: ``hf:`` or ``mask:`` with a hub id or a folder. min_score: objects with a lower score are left out
    (Zellers et al. 2019 §B.1). limit: objects per image. suppress_over: drop a box whose IoU with a higher-scoring
    box is over this; absent keeps all. person_labels: classes of the model that are called ``person``.
    """

    detector: str
    min_score: float = MIN_SCORE
    limit: int = DEFAULT_LIMIT
    suppress_over: float | None = None
    person_labels: tuple[str, ...] = PERSON_LABELS

    def __post_init__(self) -> None:
        if not is_model_name(self.detector):
            self._refuse_detector()
        if not 0 <= self.min_score <= 1:
            raise Refused(
                f"min score: {self.min_score:g} is not within 0 to 1; Zellers et al. (2019) use 0.7"
            )
        if not 1 <= self.limit <= MAX_BOXES:
            raise Refused(f"limit: {self.limit} is not within 1 to {MAX_BOXES}")
        if self.suppress_over is not None and not 0 < self.suppress_over <= 1:
            raise Refused(
                f"suppress over: {self.suppress_over:g} is not between 0 and 1; use for instance 0.7"
            )

    def _refuse_detector(self) -> None:
        try:
            validate_detector_name(self.detector)
        except DetectorUnavailable as error:
            raise Refused(str(error)) from error
        raise Refused(f"detector: {self.detector} names no classes; use hf: or mask: with a model")


def request_detection(
    *, project: Project, by: AbstractBaseUser | None, options: DetectionOptions, queue: bool = True
) -> Job:
    """Create a run's row and queue its job over all photos that are not taken down.

    Raises:
        Refused: the project has no photo.
        Conflict: a run is running.
    """
    title = f"Detect objects with {options.detector}"
    facts = asdict(options) | {"person_labels": list(options.person_labels)}
    return _create_run_and_queue(project, by, options.detector, facts, title=title, queue=queue)


def request_detections_import(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    path: Path,
    allow_resized: bool = False,
    allowed_folder: Path | None = None,
    queue: bool = True,
) -> Job:
    """Queue the import of published metadata; the worker must be able to read the path.

    Args:
        path: a folder of ``.json`` files named like the photos, one such file, or a ``.jsonl`` file.
        allow_resized: accept photos at another scale than their metadata state, and scale the objects.
        allowed_folder: the folder that must contain all files when they are read; absent allows any.

    Raises:
        Refused: there is no such file, or the project has no photo.
        Conflict: a run is running.
    """
    if not path.exists():
        raise Refused(f"{path}: there is no such file or folder; check the path")
    facts: dict[str, Any] = {"file": str(path.absolute()), "resized": allow_resized, "min_score": MIN_SCORE}
    if allowed_folder is not None:
        facts["within"] = str(allowed_folder.absolute())
    detector = f"{FILE_PREFIX}{path.name}"
    title = f"Import objects from {path.name}"
    return _create_run_and_queue(project, by, detector, facts, title=title, queue=queue)


def _create_run_and_queue(
    project: Project,
    by: AbstractBaseUser | None,
    detector: str,
    options: dict[str, Any],
    *,
    title: str,
    queue: bool,
) -> Job:
    images = Image.objects.filter(project=project, taken_down_at__isnull=True)
    last = images.order_by("-pk").values_list("pk", flat=True).first()
    if last is None:
        raise Refused("images: there are none; import some first")
    is_import = detector.startswith(FILE_PREFIX)
    with transaction.atomic():
        run = DetectionRun.objects.create(
            project=project,
            detector=detector[:MAX_DETECTOR_LENGTH],
            options=options,
            created_by_id=by.pk if by else None,
        )
        job = jobs.enqueue(
            task=DETECT_OBJECTS,
            title=title[:160],
            project=project,
            by=by,
            exclusive_key=f"objects:{project.pk}",
            resumable=True,
            queue=queue,
            run=run.pk,
            last=last,  # photos added later belong to another run, even if this one is resumed
        )
        action = "objects.import" if is_import else "objects.detect"
        audit.record(project=project, actor=by, action=action, subject=run.pk, detector=detector)
    return job


def published_run(*, project: Project, job: Job) -> DetectionRun:
    """Return the run that holds the object lists which a collection's import brings, created if it is new."""
    run = DetectionRun.objects.filter(project=project, options__job=job.pk).first()
    return run or DetectionRun.objects.create(
        project=project,
        detector=PUBLISHED,
        options={"job": job.pk, "min_score": MIN_SCORE},
        created_by_id=job.created_by_id,
    )


@transaction.atomic
def store_run_revision(*, run: DetectionRun, revision: str) -> None:
    """Store the revision of the detector or file that a run's objects come from.

    Raises:
        Refused: the run has objects of another revision already.
    """
    stored = revision[:MAX_REVISION_LENGTH]
    known = DetectionRun.objects.select_for_update().get(pk=run.pk)
    if known.images and known.revision != stored:
        raise Refused(
            f"run {known.pk}: its objects are from {known.detector} {known.revision}, not {stored}; start a new run"
        )
    run.revision = stored
    DetectionRun.objects.filter(pk=run.pk).update(revision=stored)


@transaction.atomic
def store_object_sets(*, run: DetectionRun, found: Mapping[int, Sequence[DetectedObject]]) -> int:
    """Store the object lists of some images (row keys), in the given order; return the number of new lists.

    Images that have a list of this run are skipped.
    """
    known = set(ObjectSet.objects.filter(run=run, image__in=found).values_list("image_id", flat=True))
    rows = [_make_object_set(run, image, objects) for image, objects in found.items() if image not in known]
    ObjectSet.objects.bulk_create(rows, batch_size=INSERT_BATCH_SIZE)
    count = sum(len(row.detections) for row in rows)
    DetectionRun.objects.filter(pk=run.pk).update(
        images=F("images") + len(rows), objects_found=F("objects_found") + count
    )
    return len(rows)


def _make_object_set(run: DetectionRun, image: int, objects: Sequence[DetectedObject]) -> ObjectSet:
    scored = [(found.name, found.score) for found in objects]
    counts = count_objects(scored, run.options.get("min_score", MIN_SCORE))
    return ObjectSet(
        run=run,
        image_id=image,
        detections=[found.as_json() for found in objects],
        sha256=objects_sha256(objects),
        people=counts.people,
        others=counts.others,
    )


def discard_empty_run(*, run: DetectionRun) -> None:
    """Delete a run that could not start; a run with object lists stays."""
    if not ObjectSet.objects.filter(run=run).exists():
        run.delete()


def complete_or_discard_run(*, run: DetectionRun, **figures: Any) -> None:
    """Complete a run, or delete it if no image got an object list."""
    discard_empty_run(run=run)
    if run.pk is not None:
        complete_run(run=run, **figures)


def complete_run(*, run: DetectionRun, **figures: Any) -> None:
    """Mark a run as complete, and store its figures beside the numbers of its objects by class."""
    classes: Counter[str] = Counter()
    for detections in ObjectSet.objects.filter(run=run).values_list("detections", flat=True).iterator(500):
        classes.update(found["name"] for found in detections)
    stored = run.figures | figures | {"classes": dict(classes.most_common())}
    DetectionRun.objects.filter(pk=run.pk).update(is_complete=True, figures=stored)
    run.refresh_from_db()
