"""Read a copy of VCR: ``vcr1images`` with a metadata file beside each picture, and the annotation files.

The published layout (Zellers et al. 2019, doi:10.1109/CVPR.2019.00688; the readme packed with version 1.0,
and ``dataloaders/vcr.py`` of rowanz/r2c):

* ``vcr1images/<movie>/<frame>.jpg`` with ``<frame>.json`` beside it: ``boxes`` (``[x1, y1, x2, y2, score]``
  for each detected object), ``segms`` (polygons, not read here), ``names`` (the class of each object; the
  readme leaves it out, the files have it), ``width`` and ``height``.
* ``train.jsonl``, ``val.jsonl``, ``test.jsonl``: one question a line, with ``img_fn`` and ``metadata_fn``
  (relative to ``vcr1images``), ``objects`` (the classes once more), ``img_id`` such as ``train-0``, and
  ``movie``. Several lines speak of one picture.

Paper 000, A.2: "we use the subset also annotated by VisualCOMET [44]; we limit our selection to images that
contain at least 3 unique entities (persons or objects)". The paper does not say when entities are unique.
VCR numbers every detected object, so that ``person1`` and ``person2`` are two; ``EntityCount.OBJECTS``
counts so, and leaves an object out that repeats another's class and box. ``EntityCount.NAMES`` counts
classes.

A picture's address is the one under which the Sherlock corpus publishes it (train_retrieval_clip.py of
allenai/sherlock).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from curation.records import InvalidInput
from curation.sources.fields import clean, list_of, number, record_of, text_of, whole
from curation.sources.json_stream import iterate_lines, parse
from curation.sources.records import (
    LONGEST_ID,
    SPLITS,
    SourceImage,
    SourcePlan,
    SourceRegion,
    Tick,
    WhenMissing,
)
from curation.sources.splits import read_allowed, without_lists
from curation.sources.survey import Survey

ADDRESS = "http://s3-us-west-2.amazonaws.com/ai2-rowanz/vcr1images/"
PICTURES = "vcr1images"
REST = "train"  # what all are without any annotation file
MIN_ENTITIES = 3
LONGEST_METADATA = 1 << 26
CORNERS, CORNERS_AND_SCORE = 4, 5


class EntityCount(StrEnum):
    """What counts as an entity of its own."""

    OBJECTS = "objects"
    NAMES = "names"


@dataclass(frozen=True, slots=True)
class Vcr:
    """Where a copy lies and what of it is wanted. Paths are texts, so that a job's row can keep them.

    Args:
        folder: ``vcr1images``.
        annotations: path of the annotation file by split. Without any, every picture with metadata is train.
        allowed: lists of the only images to take, by ``img_fn`` or ``img_id``; no list allows all.
        min_entities: leave pictures with fewer out.
        count: what an entity is.
        missing: what to do about pictures or metadata that are not there.
        limit: take at most so many.
        within: the folder that all files must lie in, links followed; anywhere when empty.
    """

    folder: str
    annotations: dict[str, str] = field(default_factory=dict)
    allowed: tuple[str, ...] = ()
    min_entities: int = MIN_ENTITIES
    count: EntityCount = EntityCount.OBJECTS
    missing: WhenMissing = WhenMissing.REFUSE
    limit: int | None = None
    within: str = ""


@dataclass(frozen=True, slots=True)
class _Named:
    """A picture that the annotation files, or the folders, name."""

    image: str
    metadata: str
    split: str
    place: str
    image_id: str = ""
    movie: str = ""
    objects: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Metadata:
    """What stands beside a picture; ``objects`` are its regions, named."""

    width: int
    height: int
    objects: tuple[SourceRegion, ...]


def unpacked(folder: Path, named: Mapping[str, str]) -> Vcr:
    """Return the copy in a folder that holds the pictures' one: with the annotation files that are named, by split.

    Where none is named, those in the folder are taken. A folder without ``vcr1images`` is taken for it.
    """
    pictures = folder / PICTURES
    usual = {split: folder / f"{split}.jsonl" for split in SPLITS}
    found = {split: str(path) for split, path in usual.items() if path.is_file()}
    return Vcr(str(pictures if pictures.is_dir() else folder), annotations=dict(named) or found)


def split_warning(wanted: Vcr, count: int | None = None) -> str:
    """Return what to say when no annotation file tells the splits; empty when one does.

    count: how many images are taken, once that is known.
    """
    if wanted.annotations:
        return ""
    files = ", ".join(f"{split}.jsonl" for split in SPLITS)
    mend = f"put {files} beside {PICTURES}, or give --train, --val and --test"
    return without_lists("annotation file", split=REST, count=count, mend=mend)


def read_vcr(wanted: Vcr, *, tick: Tick = lambda _: None) -> SourcePlan:
    """Read and check everything but the pixels.

    Raises:
        InvalidInput: names the file, the record and the mend.
    """
    if not Path(wanted.folder).is_dir():
        raise InvalidInput(f"{wanted.folder}: is no folder; name vcr1images, unpacked")
    return _Reading(wanted, tick).plan()


def count_entities(objects: Sequence[SourceRegion], count: EntityCount) -> int:
    """Return how many unique entities the detected objects are."""
    if count is EntityCount.NAMES:
        return len({item.text for item in objects})
    return len({(item.text, item.box) for item in objects})


class _Reading:
    """One pass over the files of a copy."""

    def __init__(self, wanted: Vcr, tick: Tick) -> None:
        self._wanted = wanted
        self._survey = Survey(missing=wanted.missing, within=wanted.within, tick=tick)
        self._folder = Path(wanted.folder)

    def plan(self) -> SourcePlan:
        self._survey.check_inside([*self._wanted.annotations.values(), *self._wanted.allowed, self._folder])
        allowed = read_allowed(self._wanted.allowed)
        named = self._annotated() if self._wanted.annotations else self._walked()
        if not named:
            raise InvalidInput(f"{self._folder}: no picture is named; check the folder and annotation files")
        self._check_allowed(allowed, named)
        with self._survey.whole_file():
            images = list(self._images(named, allowed))
        self._survey.settle_missing(
            complaint=f"is missing below {self._folder}",
            mend="unpack the archive whole",
            reason="the picture or its metadata is missing",
        )
        objects = {item.image: item.objects for item in named.values() if item.objects is not None}

        def regions(image: SourceImage) -> Sequence[SourceRegion]:
            metadata = Path(image.facts["metadata"])
            return _metadata_of(self._folder / metadata, str(metadata), objects.get(image.source_id)).objects

        warning = split_warning(self._wanted, len(images)) if images else ""
        return self._survey.plan(images, regions, warning=warning)

    def _annotated(self) -> dict[str, _Named]:
        named: dict[str, _Named] = {}
        for split, file in self._wanted.annotations.items():
            if split not in SPLITS:
                raise InvalidInput(f"split {split!r} is unknown; use {', '.join(SPLITS)}")
            lines = 0
            with self._survey.whole_file():
                for line, value in iterate_lines(Path(file)):
                    lines += 1
                    self._survey.count()
                    with self._survey.record():
                        item = _named_of(value, split, f"{Path(file).name}: line {line}")
                        _check_repeated(named.setdefault(item.image, item), item)
            if not lines:
                raise InvalidInput(f"{file}: is empty; give the published file, unpacked")
        return named

    def _walked(self) -> dict[str, _Named]:
        """Return every picture below the folder that has metadata beside it, in the order of its name."""
        named = {}
        for path in sorted(self._folder.rglob("*.json")):
            self._survey.count()
            metadata = path.relative_to(self._folder).as_posix()
            image = str(PurePosixPath(metadata).with_suffix(".jpg"))
            named[image] = _Named(image, metadata, REST, metadata, movie=path.parent.name)
        return named

    def _check_allowed(self, allowed: set[str], named: Mapping[str, _Named]) -> None:
        self._survey.settle_unknown(
            allowed - set(named) - {item.image_id for item in named.values()},
            named="the lists of allowed images name",
            complaint="is not among the pictures",
            mend="unpack the archive whole, or skip what is missing",
            reason="in the lists of allowed images and not among the pictures",
        )

    def _images(self, named: Mapping[str, _Named], allowed: set[str]) -> Iterator[SourceImage]:
        taken = 0
        for item in named.values():
            if taken == self._wanted.limit:
                return
            if allowed and not allowed & {item.image, item.image_id}:
                self._survey.leave_out("not in the lists of allowed images")
                continue
            image = None
            with self._survey.record():
                image = self._image(item)
            if image is not None:
                taken += 1
                yield image

    def _image(self, item: _Named) -> SourceImage | None:
        self._survey.count()
        gone = [name for name in (item.image, item.metadata) if not (self._folder / name).is_file()]
        if gone:
            self._survey.miss(f"{item.place}: {gone[0]}")
            return None
        self._survey.check_inside([self._folder / item.image, self._folder / item.metadata])
        about = _metadata_of(self._folder / item.metadata, item.metadata, item.objects)
        entities = count_entities(about.objects, self._wanted.count)
        if entities < self._wanted.min_entities:
            self._survey.leave_out(f"fewer than {self._wanted.min_entities} entities")
            return None
        facts = {"metadata": item.metadata, "img_id": item.image_id, "movie": item.movie}
        return SourceImage(
            source_id=item.image,
            place=item.place,
            path=str(self._folder / item.image),
            url=ADDRESS + item.image,
            split=item.split,
            width=about.width,
            height=about.height,
            credit=f"VCR {item.image_id}".strip(),
            entities=entities,
            facts={name: value for name, value in facts.items() if value},
        )


def _named_of(value: Any, split: str, place: str) -> _Named:
    record = record_of(value, place)
    image, metadata = _inside(record, "img_fn", place), _inside(record, "metadata_fn", place)
    objects = record.get("objects")
    if objects is not None and not (
        isinstance(objects, list) and all(isinstance(name, str) for name in objects)
    ):
        raise InvalidInput(f"{place}: objects must be a list of names")
    return _Named(
        image,
        metadata,
        split,
        place,
        image_id=str(record.get("img_id") or ""),
        movie=str(record.get("movie") or ""),
        objects=None if objects is None else tuple(clean(name) for name in objects),
    )


def _inside(record: Mapping[str, Any], name: str, place: str) -> str:
    """Return a path that stays below the folder."""
    path = text_of(record, name, place)
    parts = PurePosixPath(path).parts
    if path.startswith("/") or "\\" in path or "\x00" in path or ".." in parts:
        raise InvalidInput(f"{place}: {name} {path[:60]!r} leaves the folder; give the published file")
    if len(path) > LONGEST_ID:
        raise InvalidInput(f"{place}: {name} is longer than {LONGEST_ID} characters; rename the picture")
    return path


def _check_repeated(first: _Named, again: _Named) -> None:
    """Several questions speak of one picture; they must agree on it."""
    if first.split != again.split:
        raise InvalidInput(
            f"{again.place}: {again.image} is in {first.split} already ({first.place}); take it out of one split"
        )
    if (first.metadata, first.objects) != (again.metadata, again.objects):
        raise InvalidInput(
            f"{again.place}: tells other objects of {again.image} than {first.place}; download the file again"
        )


def _metadata_of(path: Path, place: str, objects: Sequence[str] | None) -> _Metadata:
    try:
        if path.stat().st_size > LONGEST_METADATA:
            raise InvalidInput(f"{place}: is too large for the metadata of a picture; get the published file")
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{place}: cannot be read; get the published file again") from error
    record = record_of(parse(text, place), place)
    boxes = list_of(record, "boxes", place)
    names = _names(record, objects, place)
    if len(names) != len(boxes):
        raise InvalidInput(
            f"{place}: has {len(boxes)} boxes and {len(names)} names; get the published file again"
        )
    regions = [
        SourceRegion(str(at), _box(box, f"{place}, box {at}"), name)
        for at, (box, name) in enumerate(zip(boxes, names, strict=True))
    ]
    width, height = whole(record, "width", place, least=1), whole(record, "height", place, least=1)
    return _Metadata(width, height, tuple(regions))


def _names(record: Mapping[str, Any], objects: Sequence[str] | None, place: str) -> Sequence[str]:
    if "names" not in record:
        if objects is None:
            raise InvalidInput(
                f"{place}: has no names; name the annotation files, whose objects are the same"
            )
        return objects
    names = list_of(record, "names", place)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"{place}: names must be a list of texts")
    cleaned = [clean(name) for name in names]
    if objects is not None and list(objects) != cleaned:
        raise InvalidInput(
            f"{place}: its names differ from the objects of the annotation files; use files of one release"
        )
    return cleaned


def _box(value: Any, place: str) -> tuple[float, float, float, float]:
    if not isinstance(value, list) or len(value) not in {CORNERS, CORNERS_AND_SCORE}:
        raise InvalidInput(f"{place}: is {json.dumps(value)[:40]}; it must be [x1, y1, x2, y2, score]")
    left, top, right, bottom = (number(edge, "an edge", place) for edge in value[:CORNERS])
    return left, top, right, bottom
