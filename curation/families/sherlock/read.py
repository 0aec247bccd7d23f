"""Read and verify an exported version: every file, row and image line against its hash.

Works on the files alone, without a database. Errors name the file and, if known, the row.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curation.files import sha256_if_readable
from curation.records import ImageReference, InvalidInput, ObservationRecord, Region
from curation.sources.json_stream import iterate_list
from curation.versions.seal import annotators_sha256
from curation.versions.spool import Spool
from hits.domain.hashing import content_sha256

MANIFEST = "manifest.json"
SEAL = "seal.jsonl"
ANNOTATORS = "annotators.jsonl"
STATISTICS = "statistics.json"
ANSWER_KEY = "comparison/answer_key.json"


class BrokenExport(InvalidInput):
    """An export that does not match its checksums; the message names the file and the row."""


@dataclass(frozen=True, slots=True)
class ExportedVersion:
    """A verified version that was read from its files.

    ``records`` are the pairs of all splits, and ``raw`` the same pairs as JSON. ``images`` maps an image's url to its
    SHA-256. ``workers`` maps an instance id to the keyed hash of its author. ``answer_key`` is ``None`` without a
    comparison part.
    """

    project: str
    name: str
    rehearsal: bool
    seal: str
    records: list[ObservationRecord]
    raw: list[dict[str, Any]]
    images: dict[str, str]
    workers: dict[str, str]
    statistics: dict[str, Any]
    answer_key: dict[str, Any] | None


_SCHEMA = """
CREATE TABLE image (url TEXT PRIMARY KEY, sha256 TEXT) WITHOUT ROWID;
CREATE TABLE sealed (part TEXT, id TEXT, sha256 TEXT, annotators TEXT, PRIMARY KEY (part, id)) WITHOUT ROWID;
CREATE TABLE found (id TEXT PRIMARY KEY) WITHOUT ROWID;
"""


class _SealIndex:
    """The lines of a checksum list and the ids of the pairs found so far, kept on disk."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header
        self._spool = Spool(_SCHEMA)

    def add(self, lines: Iterable[dict[str, Any]]) -> None:
        """Add the lines below the header."""
        for line in lines:
            if "selection" in line:
                continue
            if "image" in line:
                values = (line["image"], line["sha256"])
                self._spool.run("INSERT OR REPLACE INTO image VALUES (?, ?)", values)
            else:
                row = (line["part"], line["row"], line["sha256"], line["annotators"])
                self._spool.run("INSERT OR REPLACE INTO sealed VALUES (?, ?, ?, ?)", row)

    def pair_sha256(self, key: str) -> str | None:
        """Return the hash of a pair, or ``None`` if it was not sealed."""
        return self._first_value("SELECT sha256 FROM sealed WHERE part = 'observation' AND id = ?", key)

    def sealed_worker_hash(self, part: str, key: str) -> str | None:
        """Return the hash of a row's annotators, or ``None`` if the row was not sealed."""
        return self._first_value("SELECT annotators FROM sealed WHERE part = ? AND id = ?", part, key)

    def has_image(self, url: str) -> bool:
        """Whether an image was sealed."""
        return self._first_value("SELECT sha256 FROM image WHERE url = ?", url) is not None

    def images(self) -> Iterator[tuple[str, str]]:
        """Yield (url, sha256) of the images, by url."""
        rows = self._spool.rows("SELECT url, sha256 FROM image ORDER BY url")
        return ((url, sha256) for url, sha256 in rows)

    def mark_found(self, key: str) -> bool:
        """Record that a file contains a pair; return False if it was already recorded."""
        return self._spool.run("INSERT OR IGNORE INTO found VALUES (?)", (key,)).rowcount == 1

    def missing_pairs(self) -> tuple[int, str]:
        """Return the number of pairs missing from the files, and the first of them."""
        where = "FROM sealed WHERE part = 'observation' AND id NOT IN (SELECT id FROM found)"
        (found,) = self._spool.rows(f"SELECT count(*), coalesce(min(id), '') {where}")
        return found

    def _first_value(self, query: str, *values: str) -> str | None:
        found = self._spool.first_value(query, values)
        return None if found is None else str(found)


def read_version(folder: Path, *, images: Path | None = None) -> ExportedVersion:
    """Read the version in ``folder`` into memory, verifying all its checksums.

    Args:
        folder: a folder that ``manage.py export_version`` wrote.
        images: a folder of the images, whose urls are their paths in it; if given, they are verified too.

    Raises:
        BrokenExport: a file or row is missing, unexpected or changed.
    """
    manifest = _load_json(folder, MANIFEST)
    seal = _read_seal(folder, manifest)
    raw = list(_checked_pairs(folder, manifest, seal))
    workers = dict(_verified_pair_authors(folder, seal))
    _check_files(folder, manifest)
    if images is not None:
        _check_images(images, seal)
    names = {file["name"] for file in manifest["files"]}
    return ExportedVersion(
        project=manifest["project"],
        name=manifest["version"],
        rehearsal=seal.header["rehearsal"],
        seal=manifest["seal"],
        records=[parse_record(record) for record in raw],
        raw=raw,
        images=dict(seal.images()),
        workers=workers,
        statistics=_load_json(folder, STATISTICS),
        answer_key=_load_json(folder, ANSWER_KEY) if ANSWER_KEY in names else None,
    )


def check_export(folder: Path, *, images: Path | None = None) -> int:
    """Verify all checksums of the version in ``folder`` in constant memory, and return the number of pairs.

    The checks and their order are those of ``read_version``.

    Raises:
        BrokenExport: a file or row is missing, unexpected or changed.
    """
    manifest = _load_json(folder, MANIFEST)
    seal = _read_seal(folder, manifest)
    pairs = sum(parse_record(record) is not None for record in _checked_pairs(folder, manifest, seal))
    for _ in _verified_pair_authors(folder, seal):
        pass
    _check_files(folder, manifest)
    if images is not None:
        _check_images(images, seal)
    return pairs


def parse_record(raw: dict[str, Any]) -> ObservationRecord:
    """Parse a published record.

    Raises:
        BrokenExport: a field is missing or has another type.
    """
    try:
        inputs = raw["inputs"]
        return ObservationRecord(
            instance_id=raw["instance_id"],
            image=ImageReference(**inputs["image"]),
            bboxes=tuple(Region(**box) for box in inputs["bboxes"]),
            clue=inputs["clue"],
            inference=raw["targets"]["inference"],
            confidence=float(inputs["confidence"]),
            obs_idx=inputs["obs_idx"],
            split_idx=raw.get("split_idx"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BrokenExport(f"record {raw.get('instance_id', '?')}: {error}") from error


def _load_json(folder: Path, name: str) -> Any:
    try:
        return json.loads((folder / name).read_text("utf-8"))
    except OSError as error:
        raise BrokenExport(f"{name}: cannot be read ({error.strerror}); export the version again") from error
    except ValueError as error:
        raise BrokenExport(f"{name}: is not JSON ({error}); export the version again") from error


def _read_lines(folder: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with (folder / name).open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield number, json.loads(line)
    except OSError as error:
        raise BrokenExport(f"{name}: cannot be read ({error.strerror}); export the version again") from error
    except ValueError as error:
        raise BrokenExport(f"{name}: holds a line that is not JSON ({error})") from error


def _read_seal(folder: Path, manifest: dict[str, Any]) -> _SealIndex:
    digest = sha256_if_readable(folder / SEAL)
    if digest != manifest.get("seal"):
        raise BrokenExport(
            f"{SEAL}: its sha256 is {digest or 'unknown'}, but the manifest has {manifest.get('seal')}; "
            "the seal is broken"
        )
    lines = _read_lines(folder, SEAL)
    seal = _SealIndex(header=next(lines)[1])
    if seal.header.get("rehearsal") != manifest.get("rehearsal"):
        raise BrokenExport(f"{MANIFEST}: its “rehearsal” is not that of {SEAL}; the manifest was changed")
    seal.add(line for _, line in lines)
    return seal


def _pair_files(manifest: dict[str, Any]) -> list[str]:
    return [file["name"] for file in manifest["files"] if file["name"].startswith("sherlock")]


def _checked_pairs(folder: Path, manifest: dict[str, Any], seal: _SealIndex) -> Iterator[dict[str, Any]]:
    """Yield the pairs of all files, verifying each hash, and at the end that none is missing."""
    for name in _pair_files(manifest):
        for position, record in enumerate(_read_json_list(folder, name)):
            _check_pair(record, f"{name}: row {position}", seal)
            yield record
    missing, first = seal.missing_pairs()
    if missing:
        raise BrokenExport(f"row {first} is in the checksum list but in no file ({missing} are missing)")


def _check_pair(record: Any, location: str, seal: _SealIndex) -> None:
    key = record.get("instance_id") if isinstance(record, dict) else None
    sha256 = seal.pair_sha256(str(key))
    if sha256 is None:
        raise BrokenExport(f"{location} ({key}) is not in the checksum list")
    if content_sha256(record) != sha256:
        raise BrokenExport(f"{location} ({key}) was changed after sealing")
    if not seal.has_image(record["inputs"]["image"]["url"]):
        raise BrokenExport(f"{location} ({key}) shows an image that is not in the checksum list")
    if not seal.mark_found(str(key)):
        raise BrokenExport(f"{location} ({key}) is in the pair files twice; export the version again")


def _read_json_list(folder: Path, name: str) -> Iterator[Any]:
    """Yield the values of a file that is a JSON list, one at a time."""
    try:
        for located in iterate_list(folder / name):
            yield located.value
    except InvalidInput as error:
        raise BrokenExport(f"{name}: is not a list of records ({error}); export the version again") from error


def _verified_pair_authors(folder: Path, seal: _SealIndex) -> Iterator[tuple[str, str]]:
    """Yield (id, keyed hash of its author) of each pair; lines of other parts are only verified."""
    for number, line in _read_lines(folder, ANNOTATORS):
        part, key = line.get("part"), line.get("instance_id")
        hashes = [line[name] for name in ("worker", "annot1", "annot2") if name in line]
        if annotators_sha256(str(key), hashes) != seal.sealed_worker_hash(str(part), str(key)):
            raise BrokenExport(f"{ANNOTATORS}: line {number} ({key}) differs from what was sealed")
        if part == "observation":
            yield str(key), line["worker"]


def _check_files(folder: Path, manifest: dict[str, Any]) -> None:
    for file in manifest["files"]:
        digest = sha256_if_readable(folder / file["name"])
        if not digest:
            raise BrokenExport(f"{file['name']}: is missing; export the version again")
        if digest != file["sha256"]:
            raise BrokenExport(f"{file['name']}: was changed after it was written")


def _check_images(folder: Path, seal: _SealIndex) -> None:
    for url, sha256 in seal.images():
        digest = sha256_if_readable(folder / url)
        if digest != sha256:
            raise BrokenExport(f"{url}: {'is missing' if not digest else 'differs from the sealed image'}")
