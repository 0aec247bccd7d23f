"""Detect the objects of a project's photos, or read them from published metadata (Zellers et al. 2019 §B.1).

A job that was stopped continues with the photos that have no objects yet. Objects of a photo are stored together, in
the order that they keep.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from curation.models import DetectionRun
from curation.pipelines import detectors
from curation.proposals.detector import DetectedBoxes
from curation.proposals.objects import detected_objects
from curation.records import InvalidInput
from curation.selectors import objects as selectors
from curation.selectors.objects import ImageIndex
from curation.services import objects as services
from curation.services.proposals import FILE_PREFIX
from curation.services.refusals import refuse_invalid_input
from curation.sources.boxes import check_size
from curation.sources.detection_files import DetectionRecord, read_detections
from curation.sources.objects import FittedObjects, fit_objects
from hits.services.errors import JobCannotStart
from hits.services.jobs.jobs import Progress

RECORDS_PER_STEP = 200


def fill_detection_run(*, run: DetectionRun, last_photo_key: int, progress: Progress) -> dict[str, Any]:
    """Run a job, and return its result: the numbers of photos and objects.

    Args:
        last_photo_key: row key of the run's last photo.

    Raises:
        Refused: the model or a file is not available, or differs from the one at the start of the run.
        Cancelled: the job was cancelled; it can be resumed.
    """
    try:
        with refuse_invalid_input():
            if run.detector.startswith(FILE_PREFIX):
                figures = _import_objects(run, progress)
            else:
                figures = _detect_objects(run, last_photo_key, progress)
    except JobCannotStart:
        services.discard_empty_run(run=run)
        raise
    services.complete_run(run=run, **figures)
    return {"run": run.pk, "images": run.images, "objects": run.objects_found, **figures}


def _detect_objects(run: DetectionRun, last_photo_key: int, progress: Progress) -> dict[str, Any]:
    images = list(selectors.images_without_objects(run, last_pk=last_photo_key))
    progress.advance(run.images, run.images + len(images))
    if not run.images:
        detectors.load_detector.cache_clear()  # a folder's weights may have changed since they were loaded
        try:
            services.store_run_revision(run=run, revision=detectors.run_detector(run).revision)
        except InvalidInput as error:
            raise JobCannotStart(str(error)) from error
    detector = detectors.checked_run_detector(run)
    labels, min_score = frozenset(run.options["person_labels"]), run.options["min_score"]

    def store(found: Mapping[int, DetectedBoxes]) -> None:
        lists = {
            key: detected_objects(boxes, min_score=min_score, person_labels=labels)
            for key, boxes in found.items()
        }
        services.store_object_sets(run=run, found=lists)

    detectors.find_in_photos(detector, images, store, progress)
    return {}


def _import_objects(run: DetectionRun, progress: Progress) -> dict[str, Any]:
    """Import a file or folder of metadata. All of it is checked before the first list is stored."""
    index = ImageIndex(run.project)
    try:
        known, unknown = _check_records(run, index, progress)
    except InvalidInput as error:
        if run.images:
            raise
        raise JobCannotStart(str(error)) from error
    progress.log(
        f"{known} photos have objects in {Path(run.options['file']).name}; {unknown} records are about others"
    )
    cut_boxes = cut_polygons = done = 0
    records = _known_records(run, index)
    while step := list(islice(records, RECORDS_PER_STEP)):
        fitted = {pk: _fit(run, record, index.size(pk)) for pk, record in step}
        services.store_object_sets(run=run, found={pk: found.objects for pk, found in fitted.items()})
        cut_boxes += sum(found.cut_boxes for found in fitted.values())
        cut_polygons += sum(found.cut_polygons for found in fitted.values())
        done += len(step)
        progress.advance(done, known)
    return {"other_images": unknown, "cut_boxes": cut_boxes, "cut_polygons": cut_polygons}


def _check_records(run: DetectionRun, index: ImageIndex, progress: Progress) -> tuple[int, int]:
    """Return the numbers of records about the project's photos and about others."""
    seen: dict[int, str] = {}
    unknown = 0
    for number, record in enumerate(_records(run)):
        if number % RECORDS_PER_STEP == 0:
            progress.advance(0, len(index))
        pk = _find_image(index, record)
        if pk is None:
            unknown += 1
            continue
        if pk in seen:
            raise InvalidInput(f"{record.where}: is about the photo of {seen[pk]} again; keep one of them")
        seen[pk] = record.where
        _fit(run, record, index.size(pk))
    if not seen:
        raise InvalidInput(
            f"{run.options['file']}: names none of the project's photos; name its files like the photos"
        )
    return len(seen), unknown


def _records(run: DetectionRun) -> Iterator[DetectionRecord]:
    return read_detections(Path(run.options["file"]), within=run.options.get("within", ""))


def _known_records(run: DetectionRun, index: ImageIndex) -> Iterator[tuple[int, DetectionRecord]]:
    for record in _records(run):
        pk = _find_image(index, record)
        if pk is not None:
            yield pk, record


def _find_image(index: ImageIndex, record: DetectionRecord) -> int | None:
    found = index.find(record.name)
    if len(found) > 1:
        raise InvalidInput(
            f"{record.where}: {len(found)} photos are called {record.name}; name it with its film"
        )
    return found[0] if found else None


def _fit(run: DetectionRun, record: DetectionRecord, stored: tuple[int, int]) -> FittedObjects:
    stated = (record.metadata.width, record.metadata.height)
    try:
        check_size(stated, stored, allow_resized=run.options["resized"])
    except InvalidInput as error:
        raise InvalidInput(f"{record.where}: {error}") from error
    return fit_objects(record.metadata.objects, stated, stored)
