"""Read a copy of Visual Genome: ``image_data.json``, the image folders, and region descriptions.

The published layout (Krishna et al. 2017, doi:10.1007/s11263-016-0981-7; field types as in the readers of
huggingface/datasets and ranjaykrishna/visual_genome_python_driver):

* ``image_data.json``: one list of ``{"image_id", "url", "width", "height", "coco_id", "flickr_id"}``,
  108,077 records in version 1.2 and later. The last two are null for many images. Version 1.0 has ``id``
  instead of ``image_id``.
* ``VG_100K/`` and ``VG_100K_2/``: the images as ``<image_id>.jpg``. The folder is the second to last part
  of ``url``, such as ``https://cs.stanford.edu/people/rak248/VG_100K_2/2378438.jpg``; some people unpack
  both into one.
* ``region_descriptions.json``: one list of ``{"id", "regions": [{"region_id", "image_id", "phrase", "x",
  "y", "width", "height"}]}``, pixels of the published image; newer files have ``image_id`` instead of
  ``id``. Some images have no regions, and many boxes exceed the edge by a few pixels.

The published url is stored as the image's address, so that exported rows use the same address as the Sherlock
corpus.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from curation.records import InvalidInput
from curation.sources import fields
from curation.sources.json_stream import iterate_list, read_record
from curation.sources.records import (
    MissingImagePolicy,
    ProgressCallback,
    SourceImage,
    SourcePlan,
    SourceRegion,
)
from curation.sources.source_scan import SourceScan
from curation.sources.splits import missing_list_warning, read_allowed_names, read_splits

IMAGE_FOLDERS = ("VG_100K", "VG_100K_2")
IMAGE_DATA = "image_data.json"
DEFAULT_SPLIT = "train"  # of all images without a list
URL_PATTERN = re.compile(r"https?://\S+/(VG_100K(?:_2)?)/([A-Za-z0-9_-]+\.jpe?g)")
MAX_URL_LENGTH = 500


@dataclass(frozen=True, slots=True)
class VisualGenomeSource:
    """The location of a copy and the selection of its images. Paths are strings, so that a job's row can store them.

    Args:
        folder: contains ``VG_100K`` and ``VG_100K_2``.
        image_data: if empty, ``image_data.json`` in the folder.
        regions: ``region_descriptions.json``; empty means no regions.
        splits: path of a list of image ids by split; the key ``""`` is one file with all splits.
        rest: the split of images in no list; if empty they are omitted, but without any list all images are train.
        allowed: lists of the allowed images; no list allows all.
        missing: what to do about missing images.
        limit: maximum number of images.
        within: the folder that must contain all files, after following links; empty allows all folders.
    """

    folder: str
    image_data: str = ""
    regions: str = ""
    splits: dict[str, str] = field(default_factory=dict)
    rest: str = ""
    allowed: tuple[str, ...] = ()
    missing: MissingImagePolicy = MissingImagePolicy.REFUSE
    limit: int | None = None
    within: str = ""


def missing_splits_warning(source: VisualGenomeSource, count: int | None = None) -> str:
    """Return a warning if no list gives the splits, since Visual Genome has none; else an empty text.

    count: number of selected images, if known.
    """
    if source.splits:
        return ""
    hint = "give --splits, or --train, --val and --test"
    return missing_list_warning("list of splits", split=source.rest or DEFAULT_SPLIT, count=count, hint=hint)


def read_visual_genome(
    source: VisualGenomeSource, *, report_progress: ProgressCallback = lambda _: None
) -> SourcePlan:
    """Read and check everything except the pixels.

    Raises:
        InvalidInput: the message names the file, the record and the fix.
    """
    return _VisualGenomeReader(source, report_progress).plan()


class _VisualGenomeReader:
    """Reads the files of a copy in one pass."""

    def __init__(self, source: VisualGenomeSource, report_progress: ProgressCallback) -> None:
        self._source = source
        self._scan = SourceScan(missing=source.missing, within=source.within, report_progress=report_progress)
        self._folder = Path(source.folder)
        self._image_data = Path(source.image_data or self._folder / IMAGE_DATA)
        self._regions = Path(source.regions) if source.regions else None

    def plan(self) -> SourcePlan:
        lists = [*self._source.splits.values(), *self._source.allowed]
        self._scan.check_inside([*lists, self._folder, self._image_data, *filter(None, [self._regions])])
        splits = read_splits(self._source.splits)
        allowed = read_allowed_names(self._source.allowed)
        present = _list_image_folders(self._folder)
        known: set[str] = set()
        images = []
        with self._scan.raise_problems():
            for location, value in self._records():
                with self._scan.collect_problem():
                    record = fields.require_object(value, location)
                    image_id = str(_image_id(record, location))
                    if image_id in known:
                        raise InvalidInput(f"{location}: image_id {image_id} occurs twice; remove one")
                    known.add(image_id)
                    image = self._make_image(record, image_id, location)
                    if self._is_selected(image_id, splits, allowed):
                        images.append((image, splits.get(image_id) or self._source.rest or DEFAULT_SPLIT))
        self._refuse_or_count_unknown("the lists of splits", set(splits) - known)
        self._refuse_or_count_unknown("the lists of allowed images", allowed - known)
        selected = self._select_existing_images(images, present)
        return self._make_plan_with_regions(selected, known)

    def _records(self) -> Iterator[tuple[str, Any]]:
        any_record = False
        for found in iterate_list(self._image_data):
            any_record = True
            self._scan.count_record()
            yield f"{self._image_data.name}: record {found.number}", found.value
        if not any_record:
            raise InvalidInput(f"{self._image_data}: lists no image; give the published file")

    def _make_image(self, record: Mapping[str, Any], image_id: str, location: str) -> SourceImage:
        url = fields.require_text(record, "url", location)
        if not url.startswith(("https://", "http://")) or len(url) > MAX_URL_LENGTH:
            raise InvalidInput(
                f"{location}: url {url[:60]!r} is not a web address of up to {MAX_URL_LENGTH} characters"
            )
        facts = {name: fields.optional_id(record, name, location) for name in ("coco_id", "flickr_id")}
        return SourceImage(
            source_id=image_id,
            location=f"{location} (image_id {image_id})",
            path="",
            url=url,
            split="",
            width=fields.require_integer(record, "width", location, minimum=1),
            height=fields.require_integer(record, "height", location, minimum=1),
            credit=f"Visual Genome {image_id}",
            facts={name: value for name, value in facts.items() if value is not None},
        )

    def _is_selected(self, image_id: str, splits: Mapping[str, str], allowed: set[str]) -> bool:
        if allowed and image_id not in allowed:
            self._scan.count_left_out("not in the lists of allowed images")
            return False
        if splits and image_id not in splits and not self._source.rest:
            self._scan.count_left_out("in no list of a split")
            return False
        return True

    def _select_existing_images(
        self, images: Sequence[tuple[SourceImage, str]], present: Mapping[str, set[str]]
    ) -> list[SourceImage]:
        """Return the images whose files exist, with path and split, up to the limit."""
        selected: list[SourceImage] = []
        for image, split in images:
            if self._source.limit is not None and len(selected) == self._source.limit:
                break
            path = _find_path(image, present)
            if path is None:
                self._scan.note_missing(f"{image.location}: {_file_name(image)}")
                continue
            self._scan.check_inside([self._folder / path])
            selected.append(replace(image, path=str(self._folder / path), split=split))
        self._scan.reject_or_count_missing(
            problem=f"is not in {' or '.join(IMAGE_FOLDERS)} below {self._folder}",
            hint="unpack both archives",
            reason="the image is missing",
        )
        return selected

    def _refuse_or_count_unknown(self, lists: str, unknown: set[str]) -> None:
        self._scan.refuse_or_count_unknown(
            unknown,
            message_start=f"{lists} name image",
            problem=f"{self._image_data} does not list",
            hint="use lists and image data of the same release",
            left_out_reason=f"in {lists} and not in the image data",
        )

    def _make_plan_with_regions(self, images: Sequence[SourceImage], known: set[str]) -> SourcePlan:
        locations = self._index_region_records(known) if self._regions else {}
        if self._regions:
            images = [replace(image, regions_at=locations.get(image.source_id)) for image in images]
        without = sum(image.regions_at is None for image in images) if self._regions else 0
        notes = [f"{without} images have no regions in {self._regions}"] if without else []
        warning = missing_splits_warning(self._source, len(images)) if images else ""
        return self._scan.make_plan(images, self._read_regions, notes=notes, warning=warning)

    def _index_region_records(self, known: set[str]) -> dict[str, tuple[int, int]]:
        """Check all regions, and return the location of each image's record."""
        assert self._regions is not None
        locations: dict[str, tuple[int, int]] = {}
        with self._scan.raise_problems():
            for found in iterate_list(self._regions):
                self._scan.count_record()
                location = f"{self._regions.name}: record {found.number}"
                with self._scan.collect_problem():
                    image_id, _ = _parse_regions(fields.require_object(found.value, location), location)
                    if image_id in locations:
                        raise InvalidInput(f"{location}: image {image_id} occurs twice; remove one")
                    if image_id not in known:
                        raise InvalidInput(
                            f"{location}: image {image_id} is not in {self._image_data}; "
                            "use files of the same release"
                        )
                    locations[image_id] = (found.offset, found.length)
        if not locations:
            raise InvalidInput(f"{self._regions}: describes no image; give the published file")
        return locations

    def _read_regions(self, image: SourceImage) -> Sequence[SourceRegion]:
        if self._regions is None or image.regions_at is None:
            return ()
        location = f"{self._regions.name}: image {image.source_id}"
        image_id, regions = _parse_regions(
            fields.require_object(read_record(self._regions, *image.regions_at), location), location
        )
        if image_id != image.source_id:
            raise InvalidInput(f"{self._regions}: has changed since it was read; start again")
        return regions


def _image_id(record: Mapping[str, Any], location: str) -> int:
    return fields.require_integer(record, "image_id" if "image_id" in record else "id", location, minimum=1)


def _list_image_folders(folder: Path) -> dict[str, set[str]]:
    """Return the file names of the two image folders, as far as they exist."""
    try:
        found = {
            name: {file.name for file in (folder / name).iterdir()}
            for name in IMAGE_FOLDERS
            if (folder / name).is_dir()
        }
    except OSError as error:
        raise InvalidInput(f"{folder}: cannot be read ({error.strerror}); check its permissions") from error
    if not found:
        raise InvalidInput(
            f"{folder}: has neither {' nor '.join(IMAGE_FOLDERS)}; give the folder that contains them"
        )
    return found


def _file_name(image: SourceImage) -> str:
    match = URL_PATTERN.fullmatch(image.url)
    return f"{match[1]}/{match[2]}" if match else f"{image.source_id}.jpg"


def _find_path(image: SourceImage, present: Mapping[str, set[str]]) -> str | None:
    """Return an image's path relative to the folder: in the folder of its url, else in either folder."""
    match = URL_PATTERN.fullmatch(image.url)
    file = match[2] if match else f"{image.source_id}.jpg"
    folders = [match[1], *IMAGE_FOLDERS] if match else IMAGE_FOLDERS
    for folder in folders:
        if file in present.get(folder, ()):
            return f"{folder}/{file}"
    return None


def _parse_regions(record: Mapping[str, Any], location: str) -> tuple[str, list[SourceRegion]]:
    image_id = str(_image_id(record, location))
    regions = []
    for at, value in enumerate(fields.require_list(record, "regions", location), start=1):
        region_location = f"{location}, region {at}"
        region = fields.require_object(value, region_location)
        left, top, width, height = (
            fields.require_number(region.get(name), name, region_location)
            for name in ("x", "y", "width", "height")
        )
        phrase = region.get("phrase")
        if not isinstance(phrase, str):
            raise InvalidInput(f"{region_location}: phrase is missing; give the published file")
        region_id = str(fields.require_integer(region, "region_id", region_location, maximum=fields.MAX_ID))
        corners = (left, top, left + width, top + height)
        regions.append(SourceRegion(region_id, corners, fields.clean_text(phrase)))
    return image_id, regions
