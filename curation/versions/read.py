"""Read an exported version and prove it: every file, row and image line against its hash.

Needs the files only, no database. An error names the file and, where it can be told, the row.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curation.files import sha256_if_readable
from curation.records import ImageReference, InvalidInput, ObservationRecord, Region
from curation.versions.seal import annotators_sha256
from hits.domain.hashing import content_sha256

MANIFEST = "manifest.json"
SEAL = "seal.jsonl"
ANNOTATORS = "annotators.jsonl"
STATISTICS = "statistics.json"
ANSWER_KEY = "comparison/answer_key.json"


class BrokenExport(InvalidInput):
    """An export that is not what its seal says; the message names the file and the row."""


@dataclass(frozen=True, slots=True)
class ReadVersion:
    """A version as its files tell, all proven.

    ``records`` are the pairs of all splits; ``raw`` the same as plain JSON; ``workers`` maps an instance
    id to the keyed hash of its author; ``answer_key`` is ``None`` without a comparison part.
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


@dataclass(slots=True)
class _Seal:
    header: dict[str, Any]
    images: dict[str, str] = field(default_factory=dict)
    rows: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)


def read_version(folder: Path, *, images: Path | None = None) -> ReadVersion:
    """Return the version in ``folder`` after checking everything that its seal covers.

    Args:
        folder: what ``export_version`` wrote.
        images: a folder with the images under their urls as paths; checked too when given.

    Raises:
        BrokenExport: a file or row is missing, foreign or changed.
    """
    manifest = _load(folder, MANIFEST)
    seal = _read_seal(folder, manifest)
    raw = [record for name in _pair_files(manifest) for record in _checked_pairs(folder, name, seal)]
    _check_all_there(raw, seal)
    workers = _checked_annotators(folder, seal)
    _check_files(folder, manifest)
    if images is not None:
        _check_images(images, seal)
    names = {file["name"] for file in manifest["files"]}
    return ReadVersion(
        project=manifest["project"],
        name=manifest["version"],
        rehearsal=seal.header["rehearsal"],
        seal=manifest["seal"],
        records=[record_of(record) for record in raw],
        raw=raw,
        images=seal.images,
        workers=workers,
        statistics=_load(folder, STATISTICS),
        answer_key=_load(folder, ANSWER_KEY) if ANSWER_KEY in names else None,
    )


def record_of(raw: dict[str, Any]) -> ObservationRecord:
    """Return one published record as a plain value.

    Raises:
        BrokenExport: a field is missing or of another type.
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


def _load(folder: Path, name: str) -> Any:
    try:
        return json.loads((folder / name).read_text("utf-8"))
    except OSError as error:
        raise BrokenExport(f"{name}: cannot be read ({error.strerror}); export the version again") from error
    except ValueError as error:
        raise BrokenExport(f"{name}: is no JSON ({error}); export the version again") from error


def _lines(folder: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with (folder / name).open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                yield number, json.loads(line)
    except OSError as error:
        raise BrokenExport(f"{name}: cannot be read ({error.strerror}); export the version again") from error
    except ValueError as error:
        raise BrokenExport(f"{name}: holds a line that is no JSON ({error})") from error


def _read_seal(folder: Path, manifest: dict[str, Any]) -> _Seal:
    digest = sha256_if_readable(folder / SEAL)
    if digest != manifest.get("seal"):
        raise BrokenExport(
            f"{SEAL}: its sha256 is {digest or 'unknown'}, the manifest says {manifest.get('seal')}; "
            "the seal is broken"
        )
    lines = _lines(folder, SEAL)
    seal = _Seal(header=next(lines)[1])
    if seal.header.get("rehearsal") != manifest.get("rehearsal"):
        raise BrokenExport(f"{MANIFEST}: rehearsal is not what the seal says; the manifest was changed")
    for _, line in lines:
        if "image" in line:
            seal.images[line["image"]] = line["sha256"]
        else:
            seal.rows[line["part"], line["row"]] = line
    return seal


def _pair_files(manifest: dict[str, Any]) -> list[str]:
    return [file["name"] for file in manifest["files"] if file["name"].startswith("sherlock")]


def _checked_pairs(folder: Path, name: str, seal: _Seal) -> list[dict[str, Any]]:
    records = _load(folder, name)
    if not isinstance(records, list):
        raise BrokenExport(f"{name}: must be a list of records")
    for position, record in enumerate(records):
        key = record.get("instance_id") if isinstance(record, dict) else None
        line = seal.rows.get(("observation", str(key)))
        if line is None:
            raise BrokenExport(f"{name}: row {position} ({key}) is not in the seal")
        if content_sha256(record) != line["sha256"]:
            raise BrokenExport(f"{name}: row {position} ({key}) was changed after sealing")
        if record["inputs"]["image"]["url"] not in seal.images:
            raise BrokenExport(f"{name}: row {position} ({key}) shows an image that the seal does not list")
    return records


def _check_all_there(raw: list[dict[str, Any]], seal: _Seal) -> None:
    found = [record["instance_id"] for record in raw]
    if len(set(found)) != len(found):
        raise BrokenExport("the files of pairs hold a row twice; export the version again")
    missing = sorted(key for part, key in seal.rows if part == "observation" and key not in set(found))
    if missing:
        raise BrokenExport(f"row {missing[0]} stands in the seal but in no file ({len(missing)} are missing)")


def _checked_annotators(folder: Path, seal: _Seal) -> dict[str, str]:
    workers: dict[str, str] = {}
    for number, line in _lines(folder, ANNOTATORS):
        part, key = line.get("part"), line.get("instance_id")
        sealed = seal.rows.get((str(part), str(key)))
        who = [line[name] for name in ("worker", "annot1", "annot2") if name in line]
        if sealed is None or annotators_sha256(str(key), who) != sealed["annotators"]:
            raise BrokenExport(f"{ANNOTATORS}: line {number} ({key}) is not what was sealed")
        if part == "observation":
            workers[str(key)] = line["worker"]
    return workers


def _check_files(folder: Path, manifest: dict[str, Any]) -> None:
    for file in manifest["files"]:
        digest = sha256_if_readable(folder / file["name"])
        if not digest:
            raise BrokenExport(f"{file['name']}: is missing; export the version again")
        if digest != file["sha256"]:
            raise BrokenExport(f"{file['name']}: was changed after it was written")


def _check_images(folder: Path, seal: _Seal) -> None:
    for url, sha256 in seal.images.items():
        digest = sha256_if_readable(folder / url)
        if digest != sha256:
            raise BrokenExport(f"{url}: {'is missing' if not digest else 'is another image than was sealed'}")
