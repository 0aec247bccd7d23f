"""Read a copy of Visual Genome: ``image_data.json``, the folders of pictures, and region descriptions.

The published layout (Krishna et al. 2017, doi:10.1007/s11263-016-0981-7; field types as in the readers of
huggingface/datasets and ranjaykrishna/visual_genome_python_driver):

* ``image_data.json``: one list of ``{"image_id", "url", "width", "height", "coco_id", "flickr_id"}``,
  108,077 records in version 1.2 and later. The last two are null for many. Version 1.0 says ``id`` for
  ``image_id``.
* ``VG_100K/`` and ``VG_100K_2/``: the pictures as ``<image_id>.jpg``. The folder is the last but one part
  of ``url``, such as ``https://cs.stanford.edu/people/rak248/VG_100K_2/2378438.jpg``; some people unpack
  both into one.
* ``region_descriptions.json``: one list of ``{"id", "regions": [{"region_id", "image_id", "phrase", "x",
  "y", "width", "height"}]}``, pixels of the published picture; newer files say ``image_id`` for ``id``. Not
  every picture has regions, and many boxes reach a few pixels over the edge.

The url that is published is kept as the picture's address, so that exported rows name it as the Sherlock
corpus does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from curation.records import InvalidInput
from curation.sources.fields import (
    LARGEST_ID,
    clean,
    list_of,
    number,
    optional_id,
    record_of,
    text_of,
    whole,
)
from curation.sources.json_stream import iterate_list, read_record
from curation.sources.records import SourceImage, SourcePlan, SourceRegion, Tick, WhenMissing
from curation.sources.splits import read_allowed, read_splits, without_lists
from curation.sources.survey import Survey

FOLDERS = ("VG_100K", "VG_100K_2")
IMAGE_DATA = "image_data.json"
REST = "train"  # what all are without any list
ADDRESS = re.compile(r"https?://\S+/(VG_100K(?:_2)?)/([A-Za-z0-9_-]+\.jpe?g)")
LONGEST_URL = 500


@dataclass(frozen=True, slots=True)
class VisualGenome:
    """Where a copy lies and what of it is wanted. Paths are texts, so that a job's row can keep them.

    Args:
        folder: holds ``VG_100K`` and ``VG_100K_2``.
        image_data: ``image_data.json`` in the folder when empty.
        regions: ``region_descriptions.json``; none when empty.
        splits: path of a list of image ids by split; the key ``""`` is one file with all of them.
        rest: the split of images that no list names; when empty they are left out, unless there is no list at all,
            which makes all of them train.
        allowed: lists of the only images to take; no list allows all.
        missing: what to do about pictures that are not there.
        limit: take at most so many.
        within: the folder that all files must lie in, links followed; anywhere when empty.
    """

    folder: str
    image_data: str = ""
    regions: str = ""
    splits: dict[str, str] = field(default_factory=dict)
    rest: str = ""
    allowed: tuple[str, ...] = ()
    missing: WhenMissing = WhenMissing.REFUSE
    limit: int | None = None
    within: str = ""


def split_warning(wanted: VisualGenome, count: int | None = None) -> str:
    """Return what to say when no list tells the splits, since Visual Genome ships none; empty when one does.

    count: how many images are taken, once that is known.
    """
    if wanted.splits:
        return ""
    mend = "give --splits, or --train, --val and --test"
    return without_lists("list of splits", split=wanted.rest or REST, count=count, mend=mend)


def read_visual_genome(wanted: VisualGenome, *, tick: Tick = lambda _: None) -> SourcePlan:
    """Read and check everything but the pixels.

    Raises:
        InvalidInput: names the file, the record and the mend.
    """
    return _Reading(wanted, tick).plan()


class _Reading:
    """One pass over the files of a copy."""

    def __init__(self, wanted: VisualGenome, tick: Tick) -> None:
        self._wanted = wanted
        self._survey = Survey(missing=wanted.missing, within=wanted.within, tick=tick)
        self._folder = Path(wanted.folder)
        self._image_data = Path(wanted.image_data or self._folder / IMAGE_DATA)
        self._regions = Path(wanted.regions) if wanted.regions else None

    def plan(self) -> SourcePlan:
        lists = [*self._wanted.splits.values(), *self._wanted.allowed]
        self._survey.check_inside([*lists, self._folder, self._image_data, *filter(None, [self._regions])])
        splits = read_splits(self._wanted.splits)
        allowed = read_allowed(self._wanted.allowed)
        present = _listing(self._folder)
        known: set[str] = set()
        images = []
        with self._survey.whole_file():
            for place, value in self._records():
                with self._survey.record():
                    record = record_of(value, place)
                    image_id = str(_id_of(record, place))
                    if image_id in known:
                        raise InvalidInput(f"{place}: image_id {image_id} stands there twice; remove one")
                    known.add(image_id)
                    image = self._image(record, image_id, place)
                    if self._is_wanted(image_id, splits, allowed):
                        images.append((image, splits.get(image_id) or self._rest()))
        self._check_known("the lists of splits", set(splits) - known)
        self._check_known("the lists of allowed images", allowed - known)
        taken = self._found(images, present)
        return self._with_regions(taken, known)

    def _records(self) -> Iterator[tuple[str, Any]]:
        any_record = False
        for found in iterate_list(self._image_data):
            any_record = True
            self._survey.count()
            yield f"{self._image_data.name}: record {found.number}", found.value
        if not any_record:
            raise InvalidInput(f"{self._image_data}: lists no image; give the published file")

    def _image(self, record: Mapping[str, Any], image_id: str, place: str) -> SourceImage:
        url = text_of(record, "url", place)
        if not url.startswith(("https://", "http://")) or len(url) > LONGEST_URL:
            raise InvalidInput(
                f"{place}: url {url[:60]!r} is no web address of up to {LONGEST_URL} characters"
            )
        facts = {name: optional_id(record, name, place) for name in ("coco_id", "flickr_id")}
        return SourceImage(
            source_id=image_id,
            place=f"{place} (image_id {image_id})",
            path="",
            url=url,
            split="",
            width=whole(record, "width", place, least=1),
            height=whole(record, "height", place, least=1),
            credit=f"Visual Genome {image_id}",
            facts={name: value for name, value in facts.items() if value is not None},
        )

    def _is_wanted(self, image_id: str, splits: Mapping[str, str], allowed: set[str]) -> bool:
        if allowed and image_id not in allowed:
            self._survey.leave_out("not in the lists of allowed images")
            return False
        if splits and image_id not in splits and not self._wanted.rest:
            self._survey.leave_out("in no list of a split")
            return False
        return True

    def _rest(self) -> str:
        return self._wanted.rest or REST

    def _found(
        self, images: Sequence[tuple[SourceImage, str]], present: Mapping[str, set[str]]
    ) -> list[SourceImage]:
        """Return the images whose files are there, with path and split, up to the limit."""
        taken: list[SourceImage] = []
        for image, split in images:
            if self._wanted.limit is not None and len(taken) == self._wanted.limit:
                break
            path = _path(image, present)
            if path is None:
                self._survey.miss(f"{image.place}: {_name(image)}")
                continue
            self._survey.check_inside([self._folder / path])
            taken.append(replace(image, path=str(self._folder / path), split=split))
        self._survey.settle_missing(
            complaint=f"is not in {' or '.join(FOLDERS)} below {self._folder}",
            mend="unpack both archives",
            reason="the picture is missing",
        )
        return taken

    def _check_known(self, lists: str, unknown: set[str]) -> None:
        self._survey.settle_unknown(
            unknown,
            named=f"{lists} name image",
            complaint=f"{self._image_data} does not list",
            mend="use lists and image data of the same release",
            reason=f"in {lists} and not in the image data",
        )

    def _with_regions(self, images: Sequence[SourceImage], known: set[str]) -> SourcePlan:
        places = self._region_places(known) if self._regions else {}
        if self._regions:
            images = [replace(image, regions_at=places.get(image.source_id)) for image in images]
        without = sum(image.regions_at is None for image in images) if self._regions else 0
        notes = [f"{without} images have no regions in {self._regions}"] if without else []
        warning = split_warning(self._wanted, len(images)) if images else ""
        return self._survey.plan(images, self._read_regions, notes=notes, warning=warning)

    def _region_places(self, known: set[str]) -> dict[str, tuple[int, int]]:
        """Check every region once, and return where each image's record stands."""
        assert self._regions is not None
        places: dict[str, tuple[int, int]] = {}
        with self._survey.whole_file():
            for found in iterate_list(self._regions):
                self._survey.count()
                place = f"{self._regions.name}: record {found.number}"
                with self._survey.record():
                    image_id, _ = _regions_of(record_of(found.value, place), place)
                    if image_id in places:
                        raise InvalidInput(f"{place}: image {image_id} stands there twice; remove one")
                    if image_id not in known:
                        raise InvalidInput(
                            f"{place}: image {image_id} is not in {self._image_data}; use files of the same release"
                        )
                    places[image_id] = (found.offset, found.length)
        if not places:
            raise InvalidInput(f"{self._regions}: describes no image; give the published file")
        return places

    def _read_regions(self, image: SourceImage) -> Sequence[SourceRegion]:
        if self._regions is None or image.regions_at is None:
            return ()
        place = f"{self._regions.name}: image {image.source_id}"
        image_id, regions = _regions_of(
            record_of(read_record(self._regions, *image.regions_at), place), place
        )
        if image_id != image.source_id:
            raise InvalidInput(f"{self._regions}: has changed since it was read; start again")
        return regions


def _id_of(record: Mapping[str, Any], place: str) -> int:
    return whole(record, "image_id" if "image_id" in record else "id", place, least=1)


def _listing(folder: Path) -> dict[str, set[str]]:
    """Return the names of the files in each of the two folders that exist."""
    try:
        found = {
            name: {file.name for file in (folder / name).iterdir()}
            for name in FOLDERS
            if (folder / name).is_dir()
        }
    except OSError as error:
        raise InvalidInput(f"{folder}: cannot be read ({error.strerror}); check its rights") from error
    if not found:
        raise InvalidInput(f"{folder}: has neither {' nor '.join(FOLDERS)}; name the folder that holds them")
    return found


def _name(image: SourceImage) -> str:
    match = ADDRESS.fullmatch(image.url)
    return f"{match[1]}/{match[2]}" if match else f"{image.source_id}.jpg"


def _path(image: SourceImage, present: Mapping[str, set[str]]) -> str | None:
    """Return the file of an image relative to the folder: where its url says, or else in either folder."""
    match = ADDRESS.fullmatch(image.url)
    file = match[2] if match else f"{image.source_id}.jpg"
    folders = [match[1], *FOLDERS] if match else FOLDERS
    for folder in folders:
        if file in present.get(folder, ()):
            return f"{folder}/{file}"
    return None


def _regions_of(record: Mapping[str, Any], place: str) -> tuple[str, list[SourceRegion]]:
    image_id = str(_id_of(record, place))
    regions = []
    for at, value in enumerate(list_of(record, "regions", place), start=1):
        where = f"{place}, region {at}"
        region = record_of(value, where)
        left, top = number(region.get("x"), "x", where), number(region.get("y"), "y", where)
        width = number(region.get("width"), "width", where)
        height = number(region.get("height"), "height", where)
        phrase = region.get("phrase")
        if not isinstance(phrase, str):
            raise InvalidInput(f"{where}: phrase is missing; give the published file")
        region_id = str(whole(region, "region_id", where, most=LARGEST_ID))
        regions.append(SourceRegion(region_id, (left, top, left + width, top + height), clean(phrase)))
    return image_id, regions
