"""The checksum list (seal): one line per image and row with its hash. Its sha256 is the version's checksum.

The text is derived from sealed rows only, so writing it again gives the same bytes. ``sha256sum seal.jsonl`` verifies
a version's content.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from curation.versions.spool import sorted_by_key
from hits.domain.hashing import canonical_json, content_sha256

FORMAT = "deerstalker-seal/2"
FORMAT_WITHOUT_SELECTION = "deerstalker-seal/1"  # versions sealed before selections existed


@dataclass(frozen=True, slots=True)
class SealHeader:
    """The header of a checksum list; ``selection`` is ``None`` for versions sealed before selections existed."""

    project: str
    version: str
    rehearsal: bool
    images: int
    rows: int
    selection: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class SealedImage:
    """An image line: its url, the sha256 of its file, and facts: its name, size in pixels, credit, licence, split."""

    url: str
    sha256: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SealedRow:
    """A row line. ``annotators`` is a hash of the row's authors or judges (see ``annotators_sha256``)."""

    part: str
    instance_id: str
    split: str
    sha256: str
    annotators: str


def row_sha256(row: dict[str, Any]) -> str:
    """Return the hash of a row: the sha256 of its canonical JSON."""
    return content_sha256(row)


def annotators_sha256(instance_id: str, workers: Iterable[str]) -> str:
    """Return a hash of a row's keyed worker hashes and its id, so that rows of one worker cannot be linked."""
    return content_sha256([instance_id, list(workers)])


def seal_lines(
    header: SealHeader, images: Iterable[SealedImage], rows: Iterable[SealedRow]
) -> Iterator[bytes]:
    """Yield the lines: the header, the selection, images by url, then rows by part and id.

    They are sorted on disk, so memory use is constant.
    """
    yield _json_line(
        {
            "format": FORMAT if header.selection is not None else FORMAT_WITHOUT_SELECTION,
            "project": header.project,
            "version": header.version,
            "rehearsal": header.rehearsal,
            "images": header.images,
            "rows": header.rows,
        }
    )
    if header.selection is not None:
        yield _json_line({"selection": header.selection})
    yield from sorted_by_key((image.url, _image_line(image)) for image in images)
    yield from sorted_by_key((f"{row.part}\0{row.instance_id}", _row_line(row)) for row in rows)


def _image_line(image: SealedImage) -> bytes:
    return _json_line({"image": image.url, "sha256": image.sha256, "facts": image.facts})


def _row_line(row: SealedRow) -> bytes:
    return _json_line(
        {
            "part": row.part,
            "row": row.instance_id,
            "split": row.split,
            "sha256": row.sha256,
            "annotators": row.annotators,
        }
    )


def seal_sha256(lines: Iterable[bytes]) -> str:
    """Return the sha256 of a checksum list, 64 hex digits."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
    return digest.hexdigest()


def _json_line(value: dict[str, Any]) -> bytes:
    return canonical_json(value) + b"\n"
