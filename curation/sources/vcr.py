"""Read a copy of VCR: ``vcr1images`` with a metadata file beside each image, and the annotation files.

The published layout (Zellers et al. 2019, doi:10.1109/CVPR.2019.00688; the readme packed with version 1.0,
and ``dataloaders/vcr.py`` of rowanz/r2c):

* ``vcr1images/<movie>/<frame>.jpg`` with its metadata in ``<frame>.json`` beside it (``vcr_metadata.py``).
* ``train.jsonl``, ``val.jsonl``, ``test.jsonl``: one question per line, with ``img_fn`` and ``metadata_fn``
  (relative to ``vcr1images``), ``objects`` (the classes again), ``img_id`` such as ``train-0``, and
  ``movie``. Several lines refer to one image.

Hessel et al. 2022, appendix A.2: "we use the subset also annotated by VisualCOMET [44]; we limit our selection to
images that contain at least 3 unique entities (persons or objects)". The paper does not define unique entities.
VCR numbers every detected object, so that ``person1`` and ``person2`` are two; ``EntityCountRule.OBJECTS`` counts
in this way, without objects that repeat another's class and box. ``EntityCountRule.NAMES`` counts classes.

An image's address is the one in the Sherlock corpus (train_retrieval_clip.py of allenai/sherlock).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from curation.records import InvalidInput, check_movie_length
from curation.sources import fields
from curation.sources.json_stream import iterate_lines
from curation.sources.records import (
    MAX_ID_LENGTH,
    SPLITS,
    MissingImagePolicy,
    ProgressCallback,
    SourceImage,
    SourcePlan,
    SourceRegion,
)
from curation.sources.source_scan import SourceScan
from curation.sources.splits import missing_list_warning, read_allowed_names
from curation.sources.vcr_metadata import read_metadata

URL_PREFIX = "http://s3-us-west-2.amazonaws.com/ai2-rowanz/vcr1images/"
IMAGES_FOLDER = "vcr1images"
DEFAULT_SPLIT = "train"  # of all images without an annotation file
MIN_ENTITIES = 3


class EntityCountRule(StrEnum):
    """What counts as a unique entity."""

    OBJECTS = "objects"
    NAMES = "names"


@dataclass(frozen=True, slots=True)
class VcrSource:
    """The location of a copy and the selection of its images. Paths are strings, so that a job's row can store them.

    Args:
        folder: ``vcr1images``.
        annotations: path of the annotation file by split. Without any, all images with metadata are train.
        allowed: lists of the allowed images, by ``img_fn`` or ``img_id``; no list allows all.
        min_entities: omit images with fewer entities.
        count: what an entity is.
        missing: what to do about missing images or metadata.
        limit: maximum number of images.
        within: the folder that must contain all files, after following links; empty allows all folders.
    """

    folder: str
    annotations: dict[str, str] = field(default_factory=dict)
    allowed: tuple[str, ...] = ()
    min_entities: int = MIN_ENTITIES
    count: EntityCountRule = EntityCountRule.OBJECTS
    missing: MissingImagePolicy = MissingImagePolicy.REFUSE
    limit: int | None = None
    within: str = ""


@dataclass(frozen=True, slots=True)
class _NamedImage:
    """An image that the annotation files or the folders name."""

    image: str
    metadata: str
    split: str
    location: str
    image_id: str = ""
    movie: str = ""
    objects: tuple[str, ...] | None = None


def find_vcr_source(folder: Path, annotation_paths: Mapping[str, str]) -> VcrSource:
    """Return the copy in a folder that contains ``vcr1images``, with the named annotation files by split.

    By default the annotation files in the folder are used. A folder without ``vcr1images`` is taken as the image
    folder.
    """
    images = folder / IMAGES_FOLDER
    expected = {split: folder / f"{split}.jsonl" for split in SPLITS}
    found = {split: str(path) for split, path in expected.items() if path.is_file()}
    return VcrSource(str(images if images.is_dir() else folder), annotations=dict(annotation_paths) or found)


def missing_splits_warning(source: VcrSource, count: int | None = None) -> str:
    """Return a warning if no annotation file gives the splits, else an empty text.

    count: number of selected images, if known.
    """
    if source.annotations:
        return ""
    files = ", ".join(f"{split}.jsonl" for split in SPLITS)
    hint = f"put {files} beside {IMAGES_FOLDER}, or give --train, --val and --test"
    return missing_list_warning("annotation file", split=DEFAULT_SPLIT, count=count, hint=hint)


def read_vcr(source: VcrSource, *, report_progress: ProgressCallback = lambda _: None) -> SourcePlan:
    """Read and check everything except the pixels.

    Raises:
        InvalidInput: the message names the file, the record and the fix.
    """
    if not Path(source.folder).is_dir():
        raise InvalidInput(f"{source.folder}: is not a folder; give vcr1images, unpacked")
    return _VcrReader(source, report_progress).plan()


def count_entities(objects: Sequence[SourceRegion], rule: EntityCountRule) -> int:
    """Return the number of unique entities among the detected objects."""
    if rule is EntityCountRule.NAMES:
        return len({item.text for item in objects})
    return len({(item.text, item.box) for item in objects})


class _VcrReader:
    """Reads the files of a copy in one pass."""

    def __init__(self, source: VcrSource, report_progress: ProgressCallback) -> None:
        self._source = source
        self._scan = SourceScan(missing=source.missing, within=source.within, report_progress=report_progress)
        self._folder = Path(source.folder)

    def plan(self) -> SourcePlan:
        self._scan.check_inside([*self._source.annotations.values(), *self._source.allowed, self._folder])
        allowed = read_allowed_names(self._source.allowed)
        named = self._read_annotations() if self._source.annotations else self._walk_folder()
        if not named:
            raise InvalidInput(f"{self._folder}: no image is named; check the folder and annotation files")
        self._check_allowed(allowed, named)
        with self._scan.raise_problems():
            images = list(self._make_images(named, allowed))
        self._scan.reject_or_count_missing(
            problem=f"is missing below {self._folder}",
            hint="unpack the complete archive",
            reason="the image or its metadata is missing",
        )
        objects = {item.image: item.objects for item in named.values() if item.objects is not None}

        def regions(image: SourceImage) -> Sequence[SourceRegion]:
            metadata = Path(image.facts["metadata"])
            names = objects.get(image.source_id)
            return read_metadata(self._folder / metadata, str(metadata), names).objects

        warning = missing_splits_warning(self._source, len(images)) if images else ""
        return self._scan.make_plan(images, regions, warning=warning)

    def _read_annotations(self) -> dict[str, _NamedImage]:
        named: dict[str, _NamedImage] = {}
        for split, file in self._source.annotations.items():
            if split not in SPLITS:
                raise InvalidInput(f"split {split!r} is unknown; use {', '.join(SPLITS)}")
            lines = 0
            with self._scan.raise_problems():
                for line, value in iterate_lines(Path(file)):
                    lines += 1
                    self._scan.count_record()
                    with self._scan.collect_problem():
                        item = _parse_named_image(value, split, f"{Path(file).name}: line {line}")
                        _check_consistent(named.setdefault(item.image, item), item)
            if not lines:
                raise InvalidInput(f"{file}: is empty; give the published file, unpacked")
        return named

    def _walk_folder(self) -> dict[str, _NamedImage]:
        """Return all images below the folder that have metadata beside them, sorted by name."""
        named = {}
        for path in sorted(self._folder.rglob("*.json")):
            self._scan.count_record()
            metadata = path.relative_to(self._folder).as_posix()
            image = str(PurePosixPath(metadata).with_suffix(".jpg"))
            named[image] = _NamedImage(image, metadata, DEFAULT_SPLIT, metadata, movie=path.parent.name)
        return named

    def _check_allowed(self, allowed: set[str], named: Mapping[str, _NamedImage]) -> None:
        self._scan.refuse_or_count_unknown(
            allowed - set(named) - {item.image_id for item in named.values()},
            message_start="the lists of allowed images name",
            problem="is not among the images",
            hint="unpack the complete archive, or skip missing images",
            left_out_reason="in the lists of allowed images and not among the images",
        )

    def _make_images(self, named: Mapping[str, _NamedImage], allowed: set[str]) -> Iterator[SourceImage]:
        selected = 0
        for item in named.values():
            if selected == self._source.limit:
                return
            if allowed and not allowed & {item.image, item.image_id}:
                self._scan.count_left_out("not in the lists of allowed images")
                continue
            image = None
            with self._scan.collect_problem():
                image = self._make_image(item)
            if image is not None:
                selected += 1
                yield image

    def _make_image(self, item: _NamedImage) -> SourceImage | None:
        self._scan.count_record()
        missing = [name for name in (item.image, item.metadata) if not (self._folder / name).is_file()]
        if missing:
            self._scan.note_missing(f"{item.location}: {missing[0]}")
            return None
        check_movie_length(
            item.movie or str(PurePosixPath(item.image).parent),  # as the image's film is found later
            item.location,
            "rename it in the annotation files, or the folder that names it, to",
        )
        self._scan.check_inside([self._folder / item.image, self._folder / item.metadata])
        details = read_metadata(self._folder / item.metadata, item.metadata, item.objects)
        entities = count_entities(details.objects, self._source.count)
        if entities < self._source.min_entities:
            self._scan.count_left_out(f"fewer than {self._source.min_entities} entities")
            return None
        facts = {"metadata": item.metadata, "img_id": item.image_id, "movie": item.movie}
        return SourceImage(
            source_id=item.image,
            location=item.location,
            path=str(self._folder / item.image),
            url=URL_PREFIX + item.image,
            split=item.split,
            width=details.width,
            height=details.height,
            credit=f"VCR {item.image_id}".strip(),
            entities=entities,
            facts={name: value for name, value in facts.items() if value},
        )


def _parse_named_image(value: Any, split: str, location: str) -> _NamedImage:
    record = fields.require_object(value, location)
    image = _relative_path(record, "img_fn", location)
    metadata = _relative_path(record, "metadata_fn", location)
    objects = record.get("objects")
    is_list = isinstance(objects, list) and all(isinstance(name, str) for name in objects)
    if objects is not None and not is_list:
        raise InvalidInput(f"{location}: objects must be a list of names")
    return _NamedImage(
        image,
        metadata,
        split,
        location,
        image_id=str(record.get("img_id") or ""),
        movie=str(record.get("movie") or ""),
        objects=None if objects is None else tuple(fields.clean_text(name) for name in objects),
    )


def _relative_path(record: Mapping[str, Any], name: str, location: str) -> str:
    """Return a path that stays below the folder."""
    path = fields.require_text(record, name, location)
    parts = PurePosixPath(path).parts
    if path.startswith("/") or "\\" in path or "\x00" in path or ".." in parts:
        raise InvalidInput(f"{location}: {name} {path[:60]!r} leaves the folder; give the published file")
    if len(path) > MAX_ID_LENGTH:
        raise InvalidInput(f"{location}: {name} is longer than {MAX_ID_LENGTH} characters; rename the image")
    return path


def _check_consistent(first: _NamedImage, again: _NamedImage) -> None:
    """Several questions may refer to one image; check that they agree about it."""
    if first.split != again.split:
        raise InvalidInput(
            f"{again.location}: {again.image} is in {first.split} already ({first.location}); "
            "take it out of one split"
        )
    if (first.metadata, first.objects) != (again.metadata, again.objects):
        raise InvalidInput(
            f"{again.location}: has other objects for {again.image} than {first.location}; download the file again"
        )
