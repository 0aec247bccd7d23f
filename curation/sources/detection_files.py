"""Read published detections: the metadata of images, in a folder, in one file, or in one line each."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from curation.records import InvalidInput
from curation.sources import fields
from curation.sources.json_stream import iterate_lines
from curation.sources.objects import check_boxes
from curation.sources.path_sandbox import PathSandbox
from curation.sources.vcr_metadata import ImageMetadata, parse_metadata, read_metadata

NAME_FIELDS = ("image", "img_fn", "metadata_fn")  # of a line; the first that is there names the image


@dataclass(frozen=True, slots=True)
class DetectionRecord:
    """The detections of one image. ``name``: its path as published, without suffix. ``where``: for messages."""

    name: str
    metadata: ImageMetadata
    where: str


def read_detections(path: Path, *, within: str = "") -> Iterator[DetectionRecord]:
    """Yield the detections of each image, with one in memory at a time.

    Args:
        path: a folder of ``.json`` files that are named like the images, one such file, or a ``.jsonl`` file whose
            lines name their image besides.
        within: the folder that must contain all files, links resolved; empty allows all.

    Raises:
        InvalidInput: a file is missing or malformed, or a box has no area in its image; the message names it.
    """
    sandbox = PathSandbox(within)
    sandbox.check(path)
    for record in _read_lines(path) if path.suffix.lower() == ".jsonl" else _read_files(path, sandbox):
        size = (record.metadata.width, record.metadata.height)
        check_boxes(record.metadata.objects, size, record.where)
        yield record


def stem(name: str) -> str:
    """Return the published path of an image or of its metadata without its suffix."""
    path = PurePosixPath(name)
    return (
        str(path.with_suffix(""))
        if path.suffix.lower() in {".json", ".jpg", ".jpeg", ".png", ".webp"}
        else name
    )


def _read_files(path: Path, sandbox: PathSandbox) -> Iterator[DetectionRecord]:
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    if not files:
        raise InvalidInput(f"{path}: has no .json file; give the metadata of images")
    for file in files:
        sandbox.check(file)
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        yield DetectionRecord(stem(name), read_metadata(file, str(file)), str(file))


def _read_lines(path: Path) -> Iterator[DetectionRecord]:
    for number, value in iterate_lines(path):
        where = f"{path}: line {number}"
        record = fields.require_object(value, where)
        field = next((name for name in NAME_FIELDS if name in record), NAME_FIELDS[0])
        name = fields.require_text(record, field, where)
        yield DetectionRecord(stem(name), parse_metadata(record, where), where)
