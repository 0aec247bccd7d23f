"""Import files of judgments made outside Deerstalker: all rows of a file, or none."""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.answers.text import TextError, clean_line
from hits.domain.files.csv_download import unescape_formula
from hits.domain.hashing import keyed_worker_hash
from hits.models import Project
from hits.services import audit
from hits.services.errors import BadFile
from validation.domain.judging.judgment_rows import JudgmentFileError, ParsedJudgment, parse_json
from validation.domain.judging.spec import JudgingSpec
from validation.domain.reports.judgment_files import REQUIRED_COLUMNS, parse_rating_rows
from validation.models import ImportedJudgment, JudgmentImport
from validation.registry import is_judging_kind, judging_kinds, spec_of
from validation.selectors.ratings import read_judgments
from validation.services.rater_rows import worker_hashes

INSERT_BATCH_SIZE = 1_000
READ_CHUNK_SIZE = 2_000
MAX_NAME_LENGTH = 120
COLUMNS = ("kind", *REQUIRED_COLUMNS, "seconds", "simulated")
_PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """An import; ``is_new`` is false if the same file was imported before."""

    row: JudgmentImport
    is_new: bool


def import_judgments(
    *, project: Project, kind: str, path: Path, name: str = "", by: AbstractBaseUser | None = None
) -> ImportResult:
    """Import a file's judgments: a leaderboard answer key (JSON), or one rating per row (CSV, Parquet).

    Raters are stored as keyed hashes of their names in the file; a name has the same hash in all files of a project.
    The same file again changes nothing.

    Raises:
        BadFile: no judging kind, a file or row that cannot be read, or a judgment that this project or an earlier
            file already contains. The message names file, row, field and correction; nothing is written.
    """
    if not is_judging_kind(kind):
        raise BadFile(f"kind {kind!r}: is not a judging kind; use {', '.join(sorted(judging_kinds()))}")
    data = _read_bytes(path)
    digest = sha256(data).hexdigest()
    existing = JudgmentImport.objects.filter(project=project, kind=kind, sha256=digest).first()
    if existing is not None:
        return ImportResult(existing, is_new=False)
    try:
        judgments = _parse_judgments(data, spec_of(kind), allow_simulated=project.is_rehearsal)
    except JudgmentFileError as error:
        raise BadFile(f"{path}: {error}") from error
    title = _clean_title(name or path.name)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        source, is_new = JudgmentImport.objects.get_or_create(
            project=project,
            kind=kind,
            sha256=digest,
            defaults={"name": title, "judgments": len(judgments), "imported_by_id": by.pk if by else None},
        )
        if is_new:
            _insert_judgments(source, judgments, path)
            audit.record(
                project=project,
                actor=by,
                action="judgments.import",
                subject=source.pk,
                kind=kind,
                judgments=len(judgments),
                sha256=digest,
            )
    return ImportResult(source, is_new=is_new)


def rater_hash(project: Project, name: str) -> str:
    """Return a file's rater as 32 hex digits, the only stored form; equal names are one rater in a project."""
    return keyed_worker_hash(settings.WORKER_HASH_SECRET, f"import/{project.pk}", name)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _clean_title(name: str) -> str:
    try:
        return clean_line(name[:MAX_NAME_LENGTH], maximum=MAX_NAME_LENGTH)
    except TextError as error:
        raise BadFile(f"name: {error}") from error


def _parse_judgments(data: bytes, spec: JudgingSpec, *, allow_simulated: bool) -> list[ParsedJudgment]:
    if data.startswith(_PARQUET_MAGIC):
        return parse_rating_rows(_read_parquet_rows(data), spec, allow_simulated=allow_simulated)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JudgmentFileError("is neither UTF-8 text nor Parquet; save it as UTF-8") from error
    if not text.lstrip().startswith(("{", "[")):
        return parse_rating_rows(_read_csv_rows(text), spec, allow_simulated=allow_simulated)
    return spec.read_json(parse_json(text), allow_simulated=allow_simulated)


def _read_csv_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (line, values by column); lines count from 1 and include the header."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        _check_columns(reader.fieldnames or [])
        for row in reader:
            if None in row:
                raise JudgmentFileError(
                    f"row {reader.line_num}: has more cells than columns; quote its commas"
                )
            yield (
                reader.line_num,
                {name: unescape_formula(value) if value else value for name, value in row.items()},
            )
    except csv.Error as error:
        raise JudgmentFileError(f"row {reader.line_num}: invalid CSV ({error}); correct the file") from error


def _read_parquet_rows(data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (row from 1, values by column)."""
    import pyarrow as pa  # noqa: PLC0415 - never in the web process
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        _check_columns(file.schema_arrow.names)
        columns = [name for name in COLUMNS if name in file.schema_arrow.names]
        batches = file.iter_batches(columns=columns)
        yield from enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), start=1)
    except (pa.ArrowException, OSError) as error:
        raise JudgmentFileError(f"invalid Parquet ({error}); correct the file") from error


def _check_columns(names: Sequence[str]) -> None:
    missing = [name for name in REQUIRED_COLUMNS if name not in names]
    if missing:
        raise JudgmentFileError(
            f"row 1: column {missing[0]} is missing; required: {', '.join(REQUIRED_COLUMNS)}; optional: kind, seconds"
        )
    repeated = [name for name in COLUMNS if list(names).count(name) > 1]
    if repeated:
        raise JudgmentFileError(f"row 1: column {repeated[0]} occurs twice; keep one")


def _insert_judgments(source: JudgmentImport, judgments: Sequence[ParsedJudgment], path: Path) -> None:
    raters = {row.rater for row in judgments}
    hashes = {rater: rater_hash(source.project, rater) for rater in raters}
    _refuse_stored_judgments(source, judgments, hashes, path)
    ImportedJudgment.objects.bulk_create(
        (
            ImportedJudgment(
                source=source,
                item=row.item,
                rater=hashes[row.rater],
                answer=dict(row.answer),
                active_seconds=row.seconds,
            )
            for row in judgments
        ),
        batch_size=INSERT_BATCH_SIZE,
    )


def _refuse_stored_judgments(
    source: JudgmentImport, judgments: Sequence[ParsedJudgment], hashes: Mapping[str, str], path: Path
) -> None:
    earlier = ImportedJudgment.objects.filter(source__project=source.project_id, source__kind=source.kind)
    file_raters, imported = set(hashes.values()), {}
    exported = _own_judgments_in_file(source, hashes)
    for item, rater, name in earlier.values_list("item", "rater", "source__name").iterator(READ_CHUNK_SIZE):
        if rater in file_raters:
            imported[item, rater] = name
        if rater in hashes:  # the file contains rater hashes of this project's exports
            exported.add((item, rater))
    for row in judgments:
        source_name = imported.get((row.item, hashes[row.rater]))
        if source_name is not None:
            raise BadFile(
                f"{path}: item {row.item!r}, rater {row.rater!r}: this judgment was already imported with "
                f"“{source_name}”; remove it from this file"
            )
        if (row.item, row.rater) in exported:
            raise BadFile(
                f"{path}: item {row.item!r}, rater {row.rater!r}: this judgment was collected in this project; "
                "remove it from this file"
            )


def _own_judgments_in_file(source: JudgmentImport, raters: Collection[str]) -> set[tuple[str, str]]:
    """Return (item, rater) of this project's own judgments whose rater hashes, as exported, occur in the file."""
    project, kind = source.project, source.kind
    hashes = {
        pk: worker_hash for pk, worker_hash in worker_hashes(project, kind).items() if worker_hash in raters
    }
    if not hashes:
        return set()
    rows = read_judgments(project=project, kind=kind, workers=list(hashes))
    return {(row.item, hashes[row.worker]) for row in rows if row.worker is not None}
