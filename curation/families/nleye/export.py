"""Write a sealed version in the published layout, with what the published release lacks beside it.

    README.md                                         the card, with YAML
    test_set.csv                                      the table (the split's name is the version's)
    images/<sample_id>/{premise,hypothesis1,hypothesis2}.png
    images/metadata.jsonl                             names and facets, which datasets' imagefolder needs
    provenance.jsonl                                  the origin of each image
    nleye_triplet_test.jsonl                          the rows as sealed
    nleye_answer.jsonl, nleye_explanation.jsonl       people's answers with hashed workers; explanations with votes

If the version holds its answers back for a leaderboard, all of this lies in ``held``, and ``public`` has a card, and
instances without answers under random names. Nothing public has a row's hash: gold has two values to try.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from curation.families.nleye.card import card, public_card
from curation.families.nleye.columns import IMAGE_FIELDS, ColumnMap, default_columns, read_columns
from curation.families.nleye.instances import image_name, triplet_instances
from curation.families.nleye.rows import ANSWER, EXPLANATION, PROVENANCE, TRIPLET
from curation.models import DatasetVersion, VersionRow
from curation.selectors.triplets.settings import triplet_settings
from curation.versions.board import HELD, PUBLIC
from curation.versions.family import row_lines
from hits.domain.hashing import canonical_json
from hits.models import Image

IMAGES = ("premise", "hypothesis1", "hypothesis2")
ENDING = "_set.csv"
METADATA = "images/metadata.jsonl"
PROVENANCE_FILE = "provenance.jsonl"
FACETS = ("reasoning_category", "domain", "time_direction", "time_duration")
_FILE_CHUNK = 1 << 20
_CHUNK_SIZE = 1000
Files = Iterator[tuple[str, Iterable[bytes]]]


def holds_answers(version: DatasetVersion) -> bool:
    """Return whether a sealed version keeps its answers back."""
    return bool(version.provenance.get("holds_answers"))


def nleye_files(version: DatasetVersion, *, columns: Path | None = None) -> Files:
    """Yield the files of a sealed version."""
    is_held = holds_answers(version)
    prefix = f"{HELD}/" if is_held else ""
    for name, pieces in _full_files(version, read_columns(columns) if columns else default_columns()):
        yield prefix + name, pieces
    if is_held:
        yield from _public_files(version)


def table_file(split: str) -> str:
    """Return the name of a split's table."""
    return f"{split}{ENDING}"


def _full_files(version: DatasetVersion, columns: ColumnMap) -> Files:
    triplets = _rows(version, TRIPLET)
    splits = list(triplets.order_by("split").values_list("split", flat=True).distinct())
    numbers = sample_numbers(version)
    yield "README.md", [card(version, columns).encode()]
    for split in splits:
        chosen = triplets.filter(split=split)
        yield table_file(split), _table(chosen, numbers, columns)
        yield f"{TRIPLET}_{split}.jsonl", row_lines(chosen)
    files = _image_files_by_hash(version)
    for key, row in _keyed_rows(triplets):
        for name in IMAGES:
            if row["images"][name] in files:  # taken down since, otherwise
                yield f"images/{numbers[key]}/{name}.png", _pieces(files[row["images"][name]])
    yield METADATA, _metadata(triplets, numbers, files)
    yield PROVENANCE_FILE, row_lines(_rows(version, PROVENANCE))
    for part in (ANSWER, EXPLANATION):
        yield f"{part}.jsonl", row_lines(_rows(version, part))


def _public_files(version: DatasetVersion) -> Files:
    """Yield what teams may have of a version with held answers: images under random names, and nothing else."""
    files = _image_files_by_hash(version)
    secret = instance_secret(version)
    rows = list(_keyed_rows(_rows(version, TRIPLET)))
    instances = triplet_instances(rows, secret)
    yield f"{PUBLIC}/README.md", [public_card(version, len(instances)).encode()]
    yield f"{PUBLIC}/instances.jsonl", (canonical_json(dict(row.public_row)) + b"\n" for row in instances)
    shown = {sha256 for _, row in rows for sha256 in row["images"].values()}
    for sha256 in sorted(shown & files.keys()):
        yield f"{PUBLIC}/{image_name(sha256, secret)}", _pieces(files[sha256])


def instance_secret(version: DatasetVersion) -> str:
    """Return what random ids of a version's instances are made with; only the server knows it."""
    return f"{triplet_settings(version.project).secret}:{version.pk}"


def sample_numbers(version: DatasetVersion) -> dict[str, int]:
    """Return the number of each triplet of a version, dense from 1 in sealed order."""
    keys = _rows(version, TRIPLET).values_list("instance_id", flat=True)
    return {key: number for number, key in enumerate(keys.iterator(chunk_size=_CHUNK_SIZE), start=1)}


def _rows(version: DatasetVersion, part: str) -> Any:
    return VersionRow.objects.filter(version=version, part=part).order_by("pk")


def _keyed_rows(rows: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from rows.values_list("instance_id", "row").iterator(chunk_size=_CHUNK_SIZE)


def _table(rows: Any, numbers: Mapping[str, int], columns: ColumnMap) -> Iterator[bytes]:
    yield _csv_lines([columns.header])
    keyed = _keyed_rows(rows)
    while chunk := list(islice(keyed, _CHUNK_SIZE)):
        yield _csv_lines([sample_line(row, numbers[key], columns) for key, row in chunk])


def sample_line(row: Mapping[str, Any], number: int, columns: ColumnMap) -> list[str]:
    """Return a line of the table. Further explanations are a JSON list in one cell."""
    cells: dict[str, str] = {
        "sample_id": str(number),
        "gold": str(row["gold"]),
        "explanations": json.dumps(row["explanations"], ensure_ascii=False),
        **{field: f"images/{number}/{name}.png" for field, name in zip(IMAGE_FIELDS, IMAGES, strict=True)},
    }
    return [
        cells[column.field] if column.field in cells else str(row[column.field]) for column in columns.columns
    ]


def _csv_lines(rows: Iterable[Sequence[str]]) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(rows)  # RFC 4180: CRLF, quotes where needed
    return buffer.getvalue().encode()


def _metadata(rows: Any, numbers: Mapping[str, int], files: Mapping[str, Image]) -> Iterator[bytes]:
    """Yield what ``imagefolder`` reads: three file names relative to ``images``, and the facets."""
    for key, row in _keyed_rows(rows):
        if not set(row["images"].values()) <= files.keys():
            continue
        names = {f"{name}_file_name": f"{numbers[key]}/{name}.png" for name in IMAGES}
        yield (
            canonical_json({"sample_id": numbers[key], **names, **{name: row[name] for name in FACETS}})
            + b"\n"
        )


def _image_files_by_hash(version: DatasetVersion) -> dict[str, Image]:
    """Return the project's images by the hash of their file; those taken down since are missing."""
    rows = Image.objects.filter(project=version.project_id, taken_down_at=None).order_by("-pk")
    return {image.sha256: image for image in rows}


def _pieces(image: Image) -> Iterator[bytes]:
    with image.file.open("rb") as file:
        while piece := file.read(_FILE_CHUNK):
            yield piece
