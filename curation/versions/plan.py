"""The planned contents of a version: rows and images, kept on disk, and exclusions with their reasons."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from curation.versions.seal import SealedImage, SealedRow, annotators_sha256, row_sha256
from curation.versions.selection import Selection
from curation.versions.splits import parse_split
from curation.versions.spool import Spool, as_json_text
from hits.domain.hashing import keyed_worker_hash
from hits.models import Image, Worker


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A planned row. ``workers`` are keyed hashes; ``sha256`` is the hash of the row's canonical JSON."""

    part: str
    instance_id: str
    split: str
    row: dict[str, Any]
    workers: tuple[str, ...]
    sha256: str

    @classmethod
    def from_row(
        cls, part: str, instance_id: str, split: str, row: dict[str, Any], workers: Iterable[str]
    ) -> "PlannedRow":
        """Return the row with its hash."""
        return cls(part, instance_id, split, row, tuple(workers), row_sha256(row))


_SCHEMA = """
CREATE TABLE image (pk INTEGER PRIMARY KEY, url TEXT, sha256 TEXT, facts TEXT);
CREATE TABLE planned (pk INTEGER PRIMARY KEY, part TEXT, instance_id TEXT, split TEXT, sha256 TEXT, workers TEXT,
    row TEXT);
CREATE INDEX planned_by_id ON planned (instance_id, part);
CREATE TABLE left_out (part TEXT, instance_id TEXT, reason TEXT, also TEXT, PRIMARY KEY (part, instance_id))
    WITHOUT ROWID;
"""
_ROWS = "SELECT part, instance_id, split, sha256, workers, row FROM planned "


class Plan:
    """The planned contents of a version, with counts of exclusions by reason. Rows are kept on disk.

    ``sources`` is the family's part of the version's provenance.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.exclusions: Counter[str] = Counter()
        self.sources: dict[str, Any] = {}
        self._spool = Spool(_SCHEMA)

    def add_row(self, row: PlannedRow) -> None:
        """Add a row."""
        self._spool.run(
            "INSERT INTO planned (part, instance_id, split, sha256, workers, row) VALUES (?, ?, ?, ?, ?, ?)",
            (
                row.part,
                row.instance_id,
                row.split,
                row.sha256,
                as_json_text(row.workers),
                as_json_text(row.row),
            ),
        )

    def add_image(self, image: Image) -> None:
        """Add an image, unless it has been added already."""
        planned = plan_image(image)
        values = (image.pk, planned.url, planned.sha256, as_json_text(planned.facts))
        self._spool.run("INSERT OR IGNORE INTO image VALUES (?, ?, ?, ?)", values)

    def exclude_row(self, part: str, instance_id: str, reason: str, also: Iterable[str] = ()) -> None:
        """Record why a row is excluded; the first reason for a row is kept."""
        values = (part, instance_id, str(reason), as_json_text([str(word) for word in also]))
        if self._spool.run("INSERT OR IGNORE INTO left_out VALUES (?, ?, ?, ?)", values).rowcount == 1:
            self.exclusions[str(reason)] += 1

    def exclusion_reason(self, part: str, instance_id: str) -> str:
        """Return why a row is excluded, or an empty string if it is not."""
        query = "SELECT reason FROM left_out WHERE part = ? AND instance_id = ?"
        return str(self._spool.first_value(query, (part, instance_id)) or "")

    @property
    def image_count(self) -> int:
        """The number of images."""
        return int(self._spool.first_value("SELECT count(*) FROM image"))

    @property
    def row_count(self) -> int:
        """The number of rows of all parts."""
        return int(self._spool.first_value("SELECT count(*) FROM planned"))

    @property
    def images(self) -> Iterator[SealedImage]:
        """The images, oldest first."""
        for url, sha256, facts in self._spool.rows("SELECT url, sha256, facts FROM image ORDER BY pk"):
            yield SealedImage(url, sha256, json.loads(facts))

    @property
    def rows(self) -> Iterator[PlannedRow]:
        """The rows, in the order in which they were planned."""
        return self._rows("ORDER BY pk")

    def part_rows(self, part: str) -> Iterator[PlannedRow]:
        """Yield the rows of one part."""
        return self._rows("WHERE part = ? ORDER BY pk", part)

    def rows_by_id(self, part: str, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the published rows with some ids; missing ones are left out."""
        found = (row for key in ids for row in self._rows("WHERE instance_id = ? AND part = ?", key, part))
        return {row.instance_id: row.row for row in found}

    def sealed_rows(self) -> Iterator[SealedRow]:
        """Yield the checksum entry of each row."""
        for part, key, split, sha256, workers in self._spool.rows(
            "SELECT part, instance_id, split, sha256, workers FROM planned ORDER BY pk"
        ):
            yield SealedRow(part, key, split, sha256, annotators_sha256(key, json.loads(workers)))

    def provenance(self) -> dict[str, Any]:
        """Return the provenance of rows, and the selection unless it is everything approved."""
        chosen = {} if self.selection.is_everything else {"selection": self.selection.as_json()}
        return {**self.sources, **chosen}

    def _rows(self, condition: str, *values: str) -> Iterator[PlannedRow]:
        for part, key, split, sha256, workers, row in self._spool.rows(_ROWS + condition, values):
            yield PlannedRow(part, key, split, json.loads(row), tuple(json.loads(workers)), sha256)


def image_url(image: Image) -> str:
    """Return an image's url in rows: its source address, or else the path of its file."""
    return image.source_url or str(image.file.name)


def image_reference(image: Image) -> dict[str, Any]:
    """Return an image's reference in rows: its address and its size in pixels."""
    return {"url": image_url(image), "width": image.width, "height": image.height}


def plan_image(image: Image) -> SealedImage:
    """Return an image as planned for a version.

    Raises:
        UnknownSplit: its split is unknown.
    """
    return SealedImage(
        url=image_url(image),
        sha256=image.sha256,
        facts={
            "name": image.name,
            "width": image.width,
            "height": image.height,
            "credit": image.credit,
            "licence": image.licence,
            "split": str(parse_split(image.split)),
        },
    )


def worker_hash(worker: Worker) -> str:
    """Return the keyed hash of a worker, the only form used outside the project."""
    return keyed_worker_hash(settings.WORKER_HASH_SECRET, worker.environment, worker.worker_id)


def describe_reasons(counts: Mapping[str, int], labels: Mapping[str, str]) -> str:
    """Return counts by reason as a list: ``28 rejected by the decision run, 2 photo taken down``."""
    return ", ".join(f"{count} {labels.get(reason, reason)}" for reason, count in counts.items())
