"""Write a sealed version as files: those of its family, and the checksums common to all families.

Files are written from sealed rows, row by row. A folder appears completely or not at all: it is written under a
temporary name next to its destination and renamed at the end.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from curation.files import file_sha256, partial_folder, rename_folder_durably, sha256_if_readable
from curation.models import DatasetVersion, VersionImage, VersionRow
from curation.versions.families import family_of_version
from curation.versions.photos import NO_PHOTOS
from curation.versions.seal import SealedImage, SealedRow, SealHeader, annotators_sha256, seal_lines
from hits.domain.crashpoints import crash_point
from hits.domain.hashing import canonical_json

FORMAT = "deerstalker-export/1"
MANIFEST = "manifest.json"
SEAL = "seal.jsonl"
ANNOTATORS = "annotators.jsonl"
STATISTICS = "statistics.json"
REHEARSAL = "REHEARSAL.txt"
_CHUNK_SIZE = 1000
_LEFT_OUT_KEY = "regions_left_out"
_PHOTOS_KEY = "photos"
_COLUMNS_KEY = "columns_sha256"


class ExportRefused(ValueError):
    """A version that cannot be written to a folder; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file of an export: path inside its folder, hash and size."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class WrittenExport:
    """The contents of an export; ``files`` excludes the manifest, which lists them."""

    folder: Path
    seal: str
    files: tuple[WrittenFile, ...]


def export_version(
    version: DatasetVersion,
    folder: Path,
    *,
    real: bool = False,
    regions: bool = False,
    photos: str = NO_PHOTOS,
    columns: Path | None = None,
) -> WrittenExport:
    """Write the version into ``folder``, which must be absent, empty, or already contain this export.

    Args:
        version: a sealed version.
        real: whether the files will be released as data, which is refused for a rehearsal.
        regions: whether to also write each comparison set's photo, with the region highlighted as judges saw it.
        photos: which photos to write, of ``PHOTO_CHOICES``, if the family's exports can include them.
        columns: a file that renames the columns of the family's table, if it has one.

    Raises:
        ExportRefused: the version is not sealed, is a rehearsal but ``real``, or the folder has other files.
        InvalidInput: the file of columns cannot be used.
    """
    if not version.is_sealed:
        raise ExportRefused(f"version {version.name} is a draft: seal it first")
    family = family_of_version(version)
    public_folder, private_folder = family.folders(version)
    expected = {
        _LEFT_OUT_KEY: regions,
        _PHOTOS_KEY: photos if family.has_photos else "",
        _COLUMNS_KEY: file_sha256(columns) if columns else "",
    }
    if _is_exported(folder, version, expected) and not (real and version.rehearsal):
        return _read_export(folder, version)
    check_export_target(folder, rehearsal=version.rehearsal, real=real)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with partial_folder(folder) as partial:
            partial.mkdir()
            if private_folder:
                (partial / private_folder).mkdir(mode=0o700)
            written_pieces = _export_files(version, regions=regions, photos=photos, columns=columns)
            files = [write_file(partial, name, pieces) for name, pieces in written_pieces]
            if private_folder:
                public = [pretty_json(_public_manifest(version, files))]
                files.append(write_file(partial, f"{public_folder}/{MANIFEST}", public))
            manifest = _manifest(version, files)
            if regions:
                written = {file.name for file in files}
                manifest[_LEFT_OUT_KEY] = family.regions_left_out(version, written)
            if family.has_photos:
                manifest[_PHOTOS_KEY] = photos
            if columns:
                manifest[_COLUMNS_KEY] = expected[_COLUMNS_KEY]
            write_file(partial, family.private_name(version, MANIFEST), [pretty_json(manifest)])
            crash_point("export.before_rename")
            rename_folder_durably(partial, folder)
    except OSError:
        if _is_exported(folder, version, expected):
            return _read_export(folder, version)  # another process has just written the same export
        raise
    return WrittenExport(folder, version.manifest_sha256, tuple(files))


def check_export_target(folder: Path, *, rehearsal: bool, real: bool = False) -> None:
    """Check that a version could be written into ``folder``.

    Raises:
        ExportRefused: the version is a rehearsal but ``real``, or the folder has other files.
    """
    if real and rehearsal:
        raise ExportRefused(
            "this is a rehearsal, whose answers may be simulated: it can never be released as real data"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExportRefused(f"{folder}: is not empty; name a new or empty folder")
    parent = next(folder_above for folder_above in folder.absolute().parents if folder_above.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise ExportRefused(f"{folder}: {parent} is not writable; name another folder")


def _is_exported(folder: Path, version: DatasetVersion, expected: Mapping[str, Any]) -> bool:
    """Return whether a folder has this export, with the ``expected`` regions and photos, and all files are whole."""
    try:
        manifest = json.loads(manifest_path(folder, version).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    same = isinstance(manifest, dict) and manifest.get("seal") == version.manifest_sha256
    if not same or expected[_LEFT_OUT_KEY] != (_LEFT_OUT_KEY in manifest):
        return False
    if any(expected[key] != manifest.get(key, "") for key in (_PHOTOS_KEY, _COLUMNS_KEY)):
        return False
    return all(sha256_if_readable(folder / f["name"]) == f["sha256"] for f in manifest["files"])


def manifest_path(folder: Path, version: DatasetVersion) -> Path:
    """Return the path of the manifest of a version's export."""
    return folder / family_of_version(version).private_name(version, MANIFEST)


def _read_export(folder: Path, version: DatasetVersion) -> WrittenExport:
    manifest = json.loads(manifest_path(folder, version).read_text("utf-8"))
    return WrittenExport(folder, manifest["seal"], tuple(WrittenFile(**f) for f in manifest["files"]))


def _manifest(version: DatasetVersion, files: list[WrittenFile]) -> dict[str, Any]:
    assert version.sealed_at is not None
    return {
        "format": FORMAT,
        "project": version.project.slug,
        "version": version.name,
        "family": version.project.family,
        "rehearsal": version.rehearsal,
        "seal": version.manifest_sha256,
        "sealed_at": version.sealed_at.isoformat(),
        "provenance": version.provenance,
        "exclusions": version.exclusions,
        "files": [asdict(file) for file in files],
    }


def _public_manifest(version: DatasetVersion, files: Sequence[WrittenFile]) -> dict[str, Any]:
    """Return the manifest of published files alone: without checksums of rows, and without the version's."""
    folder = f"{family_of_version(version).folders(version)[0]}/"
    return {
        "format": FORMAT,
        "project": version.project.slug,
        "version": version.name,
        "family": version.project.family,
        "rehearsal": version.rehearsal,
        "files": [
            asdict(file) | {"name": file.name.removeprefix(folder)}
            for file in files
            if file.name.startswith(folder)
        ],
    }


def _export_files(
    version: DatasetVersion, *, regions: bool, photos: str, columns: Path | None
) -> Iterator[tuple[str, Iterable[bytes]]]:
    family = family_of_version(version)
    if columns:
        yield from family.files_with_columns(version, columns)
    else:
        yield from family.files(version, regions=regions, photos=photos)
    yield family.private_name(version, ANNOTATORS), _annotator_lines(version)
    yield family.private_name(version, STATISTICS), [pretty_json(version.statistics)]
    yield family.private_name(version, SEAL), seal_file_lines(version)
    if version.rehearsal:
        yield REHEARSAL, [b"A rehearsal: answers may be simulated. This is no data; do not release it.\n"]


def _annotator_lines(version: DatasetVersion) -> Iterator[bytes]:
    authors = {part.name: part.authors for part in family_of_version(version).parts if part.authors}
    rows = VersionRow.objects.filter(version=version, part__in=authors).order_by("pk")
    found = rows.values_list("part", "instance_id", "workers").iterator(chunk_size=_CHUNK_SIZE)
    for part, instance_id, workers in found:
        names = authors[part]
        hashes = dict(zip(names, workers, strict=True))
        yield canonical_json({"part": part, "instance_id": instance_id} | hashes) + b"\n"


def seal_file_lines(version: DatasetVersion) -> Iterator[bytes]:
    """Return the lines of a sealed version's checksum list, generated from its rows."""
    images = VersionImage.objects.filter(version=version)
    rows = VersionRow.objects.filter(version=version)
    return seal_lines(
        SealHeader(
            version.project.slug,
            version.name,
            version.rehearsal,
            images=images.count(),
            rows=rows.count(),
            selection=version.selection,
        ),
        (
            SealedImage(url, sha256, facts)
            for url, sha256, facts in images.values_list("url", "sha256", "facts").iterator(
                chunk_size=_CHUNK_SIZE
            )
        ),
        (
            SealedRow(part, instance_id, split, sha256, annotators_sha256(instance_id, workers))
            for part, instance_id, split, sha256, workers in rows.values_list(
                "part", "instance_id", "split", "sha256", "workers"
            ).iterator(chunk_size=_CHUNK_SIZE)
        ),
    )


def pretty_json(value: Any) -> bytes:
    """Return indented JSON with sorted keys, so that equal values have equal bytes."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"


def write_file(folder: Path, name: str, pieces: Iterable[bytes]) -> WrittenFile:
    """Write a new file of an export piece by piece, creating its folders; ``rename_folder_durably`` flushes it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with path.open("xb") as file:
        for piece in pieces:
            file.write(piece)
            crash_point("export.amid_file")
            digest.update(piece)
            size += len(piece)
    return WrittenFile(name, digest.hexdigest(), size)
