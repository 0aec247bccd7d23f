"""Store the pictures of a published collection in small, resumable steps."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from curation.models import DetectionRun, Source, SourceRecord
from curation.records import InvalidInput
from curation.selectors.objects import images_with_objects
from curation.selectors.sources import source_labels, source_records, splits_by_source_id
from curation.services.objects import store_object_sets
from curation.sources.boxes import FittedRegions, check_size, fit_regions
from curation.sources.objects import fit_objects
from curation.sources.path_sandbox import PathSandbox
from curation.sources.records import SourceImage, SourcePlan, SourceRegion
from hits.models import Image, Project
from hits.services.errors import BadFile, Refused
from hits.services.images import import_image
from hits.services.jobs.jobs import Progress

BATCH_SIZE = 16
DECODER_THREADS = min(4, os.cpu_count() or 1)
MAX_LOGGED_PROBLEMS = 100  # of each kind that are logged; all are counted


class BadImageAction(StrEnum):
    """What to do with a picture that cannot be used."""

    SKIP = "skip"
    STOP = "stop"


class AcceptedSizes(StrEnum):
    """Which image sizes are accepted: only the published one, or copies at another scale too."""

    PUBLISHED = "published"
    RESIZED = "resized"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a collection is imported. With ``dry_run`` nothing is stored."""

    bad_picture: BadImageAction = BadImageAction.SKIP
    sizes: AcceptedSizes = AcceptedSizes.PUBLISHED
    licence: str = ""
    dry_run: bool = False


@dataclass(slots=True)
class ImportCounts:
    """What an import has done so far. The job's cursor stores it, so that a resumed run continues the counts.

    ``described`` counts pictures the project already had, to which the import added missing details.
    ``object_lists`` counts pictures that got a list of objects, and ``cut_polygons`` outlines cut at the edge.
    """

    new: int = 0
    known: int = 0
    described: int = 0
    skipped: int = 0
    regions: int = 0
    clipped: int = 0
    dropped: int = 0
    object_lists: int = 0
    cut_polygons: int = 0
    problems: list[str] = field(default_factory=list)

    def note_problem(self, problem: str) -> None:
        """Record a problem, unless enough have been recorded."""
        if len(self.problems) < MAX_LOGGED_PROBLEMS:
            self.problems.append(problem)


@dataclass(frozen=True, slots=True)
class _DecodedImage:
    """A decoded picture, ready to store, with its regions as published."""

    image: SourceImage
    prepared: import_image.PreparedImage
    regions: Sequence[SourceRegion]


@dataclass(frozen=True, slots=True)
class _KnownImage:
    """A picture the project already has (by the collection's id), with its regions as published."""

    image: SourceImage
    regions: Sequence[SourceRegion]


class ImageImport:
    """Stores an import's pictures batch by batch, starting at the job's cursor.

    sandbox: the folder that every picture must be in when it is opened, perhaps hours after planning.
    objects_run: the run that gets an object list of each picture's regions; absent if regions are no objects.
    """

    def __init__(
        self,
        project: Project,
        source: Source,
        options: ImportOptions,
        plan: SourcePlan,
        progress: Progress,
        *,
        sandbox: PathSandbox,
        objects_run: DetectionRun | None = None,
    ) -> None:
        self._project = project
        self._source = source
        self._options = options
        self._plan = plan
        self._progress = progress
        self._sandbox = sandbox
        self._objects_run = objects_run
        self._fingerprint = _fingerprint(plan)
        self._known = splits_by_source_id(project, self._source)
        self._position, self._counts = self._find_resume_point()

    def run(self) -> ImportCounts:
        images = self._plan.images
        self._progress.advance(self._position, total=len(images), **self._cursor())
        with ThreadPoolExecutor(DECODER_THREADS) as pool:
            for start in range(self._position, len(images), BATCH_SIZE):
                self._import_batch(images[start : start + BATCH_SIZE], pool)
        return self._counts

    def _find_resume_point(self) -> tuple[int, ImportCounts]:
        """Return the position and counts of an earlier run; both are 0 if the files have changed since."""
        cursor = self._progress.job.cursor
        if cursor.get("plan") != self._fingerprint:
            return 0, ImportCounts()
        return cursor["position"], ImportCounts(**cursor["tally"])

    def _cursor(self) -> dict[str, Any]:
        return {"plan": self._fingerprint, "position": self._position, "tally": asdict(self._counts)}

    def _import_batch(self, batch: Sequence[SourceImage], pool: ThreadPoolExecutor) -> None:
        first_new_problem = len(self._counts.problems)
        new = [image for image in batch if image.source_id not in self._known]
        old = (image for image in batch if image.source_id in self._known)
        known = [_KnownImage(image, self._plan.regions(image)) for image in old]
        opened = list(self._decode(new, pool))
        with transaction.atomic():
            self._store(opened)
            self._update_known(known)
            self._position += len(batch)
            self._progress.advance(self._position, total=len(self._plan.images), **self._cursor())
        for problem in self._counts.problems[first_new_problem:]:
            self._progress.log(f"Skipped: {problem}")

    def _update_known(self, known: Sequence[_KnownImage]) -> None:
        """Add missing details to pictures the project already has; differences are logged and left alone."""
        ids = [item.image.source_id for item in known]
        records = source_records(self._project, self._source, ids) if ids else {}
        fitting: dict[Image, _KnownImage] = {}
        for item in known:
            source, record = item.image, records[item.image.source_id]
            if record.image.split != source.split:
                self._skip(
                    f"{source.location}: is in the project's split {record.image.split or '(none)'}, "
                    f"here in {source.split}; left as it is"
                )
            elif not item.regions or self._fits_or_skip(source, (record.image.width, record.image.height)):
                self._add_details_to_known(item, record)
                fitting[record.image] = item
        self._store_objects(fitting)

    def _store_objects(self, found: Mapping[Image, "_DecodedImage | _KnownImage"]) -> None:
        """Store the object lists of pictures that have none."""
        if self._objects_run is None:
            return
        listed = images_with_objects([image.pk for image in found])
        fitted = {
            image.pk: fit_objects(
                item.regions, (item.image.width, item.image.height), (image.width, image.height)
            )
            for image, item in found.items()
            if image.pk not in listed
        }
        lists = {pk: objects.objects for pk, objects in fitted.items()}
        self._counts.object_lists += store_object_sets(run=self._objects_run, found=lists)
        self._counts.cut_polygons += sum(objects.cut_polygons for objects in fitted.values())

    def _add_details_to_known(self, item: _KnownImage, record: SourceRecord) -> None:
        source, image = item.image, record.image
        fitted = fit_regions(item.regions, (source.width, source.height), (image.width, image.height))
        updates: list[tuple[str, SourceRecord | Image, str, Any]] = [
            ("regions", record, "regions", fitted.regions),
            ("number of entities", image, "entity_count", source.entities),
            ("licence", image, "licence", self._options.licence),
        ]
        changed: set[str] = set()
        differing = []
        for name, row, field_name, value in updates:
            current = getattr(row, field_name)
            if value in (None, "", []) or value == current:
                continue
            if current in (None, "", []):
                setattr(row, field_name, value)
                changed.add(field_name)
            else:
                differing.append(name)
        facts = {name: value for name, value in source.facts.items() if name not in record.facts}
        if facts:
            record.facts = record.facts | facts
            changed.add("facts")
        differing += [name for name, value in source.facts.items() if record.facts[name] != value]
        if not image.credit and source.credit:
            image.credit = source.credit
            changed.add("credit")
        self._save_changed_fields(record, changed)
        if "regions" in changed:
            self._count_regions(fitted)
        if differing:
            names = ", ".join(differing)
            self._note_or_raise(f"{source.location}: has another {names} in the project; left as it is")
        if changed:
            self._counts.described += 1
        elif differing:
            self._counts.skipped += 1
        else:
            self._counts.known += 1

    def _save_changed_fields(self, record: SourceRecord, changed: set[str]) -> None:
        record_fields = changed & {"regions", "facts"}
        if record_fields:
            record.save(update_fields=record_fields)
        if changed - record_fields:
            record.image.save(update_fields=changed - record_fields)

    def _decode(self, images: Sequence[SourceImage], pool: ThreadPoolExecutor) -> Iterator[_DecodedImage]:
        """Read and decode a batch of pictures; unusable ones are counted."""
        files = []
        for image in images:
            try:
                files.append((image, self._read_file(image)))
            except BadFile as error:
                self._skip(f"{image.location}: {error}")
        known = import_image.known_original_hashes(self._project, [file for _, file in files])

        def prepare(
            item: tuple[SourceImage, import_image.IncomingFile],
        ) -> import_image.PreparedImage | BadFile:
            try:
                return import_image.prepare_image(item[1], known)
            except BadFile as error:
                return error

        for (image, _), prepared in zip(files, pool.map(prepare, files), strict=True):
            if isinstance(prepared, BadFile):
                self._skip(f"{image.location}: {prepared}")
            else:
                yield _DecodedImage(image, prepared, self._plan.regions(image))

    def _read_file(self, image: SourceImage) -> import_image.IncomingFile:
        """Read a picture.

        Raises:
            BadFile: it cannot be used.
            InvalidInput: it now lies outside the folder; this is never skipped."""
        path = Path(image.path)
        self._sandbox.check(path)
        try:
            if path.stat().st_size > settings.MAX_IMAGE_BYTES:
                raise BadFile(f"{path.name}: is too large; make it smaller first")
            data = path.read_bytes()
        except OSError as error:
            raise BadFile(f"{path.name}: cannot be read ({error.strerror})") from error
        description = import_image.ImageDescription(
            source_url=image.url,
            credit=image.credit,
            licence=self._options.licence,
            split=image.split,
            entity_count=image.entities,
        )
        return import_image.IncomingFile(path.name, data, description)

    def _store(self, opened: Sequence[_DecodedImage]) -> None:
        fitting = [item for item in opened if self._has_accepted_size_or_skip(item)]
        prepared = [item.prepared for item in fitting]
        stored = import_image.store_images(project=self._project, prepared=prepared)
        described = source_labels([found[0].pk for found in stored if not isinstance(found, BadFile)])
        records = []
        by_source_id = {item.image.source_id: item for item in fitting}
        for item, found in zip(fitting, stored, strict=True):
            if isinstance(found, BadFile):
                self._skip(f"{item.image.location}: {found}")
                continue
            image, is_new = found
            if image.pk in described:
                self._skip(f"{item.image.location}: is the same file as {described[image.pk]}")
            elif is_new or self._add_details_or_skip(item.image, image):
                described[image.pk] = f"{self._source} {item.image.source_id}"
                self._known[item.image.source_id] = image.split
                records.append(self._make_source_record(item, image, is_new))
        SourceRecord.objects.bulk_create(records)
        self._store_objects({record.image: by_source_id[record.source_id] for record in records})

    def _has_accepted_size_or_skip(self, item: _DecodedImage) -> bool:
        decoded = item.prepared.reencoded
        if decoded is None:  # already in the project; its row has the size
            return True
        return self._fits_or_skip(item.image, (decoded.width, decoded.height))

    def _fits_or_skip(self, image: SourceImage, size: tuple[int, int]) -> bool:
        try:
            resized = self._options.sizes is AcceptedSizes.RESIZED
            check_size((image.width, image.height), size, allow_resized=resized)
        except InvalidInput as error:
            self._skip(f"{image.location}: {error}")
            return False
        return True

    def _add_details_or_skip(self, source: SourceImage, image: Image) -> bool:
        """Add missing details to a picture that was added in another way; a different split is left alone."""
        if not self._fits_or_skip(source, (image.width, image.height)):
            return False
        if image.split not in {"", source.split}:
            known = f"{image.name}, in {image.split}"
            self._skip(f"{source.location}: is in the project as {known}; left as it is")
            return False
        image.split = source.split
        image.credit = image.credit or source.credit
        if image.entity_count is None:
            image.entity_count = source.entities
        if not image.source_url and import_image.find_image_by_url(self._project, source.url) is None:
            image.source_url = source.url
        image.save(update_fields=["split", "credit", "entity_count", "source_url"])
        return True

    def _make_source_record(self, item: _DecodedImage, image: Image, is_new: bool) -> SourceRecord:
        source = item.image
        fitted = fit_regions(item.regions, (source.width, source.height), (image.width, image.height))
        self._counts.new += is_new
        self._counts.described += not is_new
        self._count_regions(fitted)
        return SourceRecord(
            image=image,
            source=self._source.value,
            source_id=source.source_id,
            regions=fitted.regions,
            facts=dict(source.facts),
        )

    def _count_regions(self, fitted: FittedRegions) -> None:
        self._counts.regions += len(fitted.regions)
        self._counts.clipped += fitted.clipped
        self._counts.dropped += fitted.dropped

    def _skip(self, problem: str) -> None:
        self._note_or_raise(problem)
        self._counts.skipped += 1

    def _note_or_raise(self, problem: str) -> None:
        if self._options.bad_picture is BadImageAction.STOP:
            raise Refused(problem)
        self._counts.note_problem(problem)


def _fingerprint(plan: SourcePlan) -> str:
    """Return a fingerprint by which a later run detects changed files."""
    digest = hashlib.sha256()
    for image in plan.images:
        facts = (image.source_id, image.split, image.path, image.width, image.height, image.regions_at)
        digest.update(repr(facts).encode())
    return digest.hexdigest()
