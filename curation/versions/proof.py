"""Verify an exported version of a family whose files are canonical JSON lines."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from curation.files import sha256_if_readable
from curation.records import InvalidInput
from curation.versions.seal import annotators_sha256
from curation.versions.spool import Spool

_SCHEMA = """
CREATE TABLE sealed (part TEXT, id TEXT, sha256 TEXT, annotators TEXT, found INTEGER DEFAULT 0,
    PRIMARY KEY (part, id)) WITHOUT ROWID;
CREATE INDEX sealed_by_hash ON sealed (part, sha256);
CREATE TABLE image (url TEXT PRIMARY KEY, sha256 TEXT) WITHOUT ROWID;
"""


def check_export_rows(
    folder: Path,
    parts: Sequence[str],
    *,
    images: Path | None = None,
    private_folder: str = "",
    further_files: Mapping[str, str] | None = None,
) -> int:
    """Verify every file, row, annotator and image against the checksums; return the number of rows of the first part.

    Args:
        parts: the names of the family's parts, the main one first.
        private_folder: the family's folder of files that are never published; files of rows lie there.
        further_files: the part of each file of rows with another name.

    Raises:
        InvalidInput: something is missing, unexpected or changed; the message names the file and the row.
    """
    private = folder / private_folder
    manifest = json.loads((private / "manifest.json").read_text("utf-8"))
    for file in manifest["files"]:
        digest = sha256_if_readable(folder / file["name"])
        if digest != file["sha256"]:
            problem = "was changed after it was written" if digest else "is missing"
            raise InvalidInput(f"{file['name']}: {problem}; export the version again")
    if sha256_if_readable(private / "seal.jsonl") != manifest["seal"]:
        raise InvalidInput("seal.jsonl: does not match the manifest; the file was changed")
    seal = _read_seal(private)
    prefix = f"{private_folder}/" if private_folder else ""
    for file in manifest["files"]:
        name = file["name"]
        part = (further_files or {}).get(name) or _match_part(name.removeprefix(prefix), parts)
        if part is not None:
            _check_rows(folder, name, part, seal)
    missing = list(seal.rows("SELECT part, id FROM sealed WHERE found = 0 LIMIT 1"))
    if missing:
        raise InvalidInput(f"{missing[0][0]} {missing[0][1]}: is in the checksum list but in no file")
    _check_annotators(private, seal)
    if images is not None:
        _check_images(images, seal)
    return int(seal.first_value("SELECT count(*) FROM sealed WHERE part = ?", (parts[0],)))


def _match_part(name: str, parts: Sequence[str]) -> str | None:
    """Return the part of a file named ``part.jsonl`` or ``part_split.jsonl``, preferring the longest match."""
    fitting = [
        part
        for part in parts
        if name == f"{part}.jsonl" or (name.startswith(f"{part}_") and name.endswith(".jsonl"))
    ]
    return max(fitting, key=len, default=None)


def _read_seal(folder: Path) -> Spool:
    seal = Spool(_SCHEMA)
    for number, line in _read_numbered_lines(folder / "seal.jsonl"):
        if "image" in line:
            seal.run("INSERT INTO image VALUES (?, ?)", (line["image"], line["sha256"]))
        elif "row" in line:
            values = (line["part"], line["row"], line["sha256"], line["annotators"])
            seal.run("INSERT INTO sealed (part, id, sha256, annotators) VALUES (?, ?, ?, ?)", values)
        elif number > 1 and "selection" not in line:
            raise InvalidInput(f"seal.jsonl: line {number} is not valid")
    return seal


def _check_rows(folder: Path, name: str, part: str, seal: Spool) -> None:
    with (folder / name).open("rb") as file:
        for number, line in enumerate(file, start=1):
            digest = hashlib.sha256(line.removesuffix(b"\n")).hexdigest()
            # Without the hint, SQLite reads all rows of the part.
            by_hash = "UPDATE sealed INDEXED BY sealed_by_hash SET found = 1"
            found = f"{by_hash} WHERE part = ? AND sha256 = ? AND found = 0"
            if seal.run(found, (part, digest)).rowcount < 1:
                raise InvalidInput(f"{name}: line {number} differs from what was sealed, or is a duplicate")


def _check_annotators(folder: Path, seal: Spool) -> None:
    for number, line in _read_numbered_lines(folder / "annotators.jsonl"):
        part, key = line.pop("part"), line.pop("instance_id")
        sealed = seal.first_value("SELECT annotators FROM sealed WHERE part = ? AND id = ?", (part, key))
        if annotators_sha256(key, line.pop("workers", None) or list(line.values())) != sealed:
            raise InvalidInput(f"annotators.jsonl: line {number} ({key}) differs from what was sealed")


def _check_images(folder: Path, seal: Spool) -> None:
    for url, sha256 in seal.rows("SELECT url, sha256 FROM image ORDER BY url"):
        if sha256_if_readable(folder / url) != sha256:
            raise InvalidInput(f"{url}: is missing, or differs from the sealed image")


def _read_numbered_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            yield number, json.loads(line)
