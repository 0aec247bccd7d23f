"""Take in judgments that were made elsewhere: all of a file, or nothing of it."""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.domain.answers.text import TextError, clean_line
from hits.domain.files.csv_download import unquoted
from hits.domain.hashing import keyed_worker_hash
from hits.models import Project
from hits.services import audit
from hits.services.errors import BadFile
from validation.domain.judging.judgment_rows import FileError, Given, parse_json
from validation.domain.judging.spec import JudgingSpec
from validation.domain.reports.judgment_files import NEEDED, from_rows
from validation.models import ImportedJudgment, JudgmentImport
from validation.registry import has_spec, names, spec_of
from validation.selectors.ratings import judged
from validation.services.rater_rows import worker_hashes

AT_ONCE = 1_000
CHUNK = 2_000
MAX_NAME = 120
OPTIONAL = ("seconds", "simulated")
_PARQUET = b"PAR1"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to; ``is_new`` is false when the same file had come in before."""

    row: JudgmentImport
    is_new: bool


def import_judgments(
    *, project: Project, kind: str, path: Path, name: str = "", by: AbstractBaseUser | None = None
) -> Imported:
    """Keep a file's judgments: an answer key of the leaderboard (JSON), or rows of one rating each (CSV, Parquet).

    Raters are kept as keyed hashes of the file's own words for them, the same word alike in every file of a project.
    The same file again changes nothing.

    Raises:
        BadFile: another kind, a file that cannot be read, a row that is no judgment, one of an item that the same
            rater judged in an earlier file, or one that was exported from this project. The message names file, row,
            field and mend; nothing is written.
    """
    if not has_spec(kind):
        raise BadFile(f"kind {kind!r}: holds no judgments; use {', '.join(sorted(names()))}")
    data = _bytes(path)
    digest = sha256(data).hexdigest()
    known = JudgmentImport.objects.filter(project=project, kind=kind, sha256=digest).first()
    if known is not None:
        return Imported(known, is_new=False)
    try:
        given = _parsed(data, spec_of(kind), made_up=project.is_rehearsal)
    except FileError as error:
        raise BadFile(f"{path}: {error}") from error
    title = _title(name or path.name)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        source, is_new = JudgmentImport.objects.get_or_create(
            project=project,
            kind=kind,
            sha256=digest,
            defaults={"name": title, "judgments": len(given), "imported_by_id": by.pk if by else None},
        )
        if is_new:
            _write(source, given, path)
            audit.record(
                project=project,
                actor=by,
                action="judgments.import",
                subject=source.pk,
                kind=kind,
                judgments=len(given),
                sha256=digest,
            )
    return Imported(source, is_new=is_new)


def rater_hash(project: Project, word: str) -> str:
    """Return the only form in which a file's rater is kept, 32 hex digits; equal words are one rater in a project."""
    return keyed_worker_hash(settings.WORKER_HASH_SECRET, f"import/{project.pk}", word)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _title(name: str) -> str:
    try:
        return clean_line(name[:MAX_NAME], maximum=MAX_NAME)
    except TextError as error:
        raise BadFile(f"name: it {error}") from error


def _parsed(data: bytes, spec: JudgingSpec, *, made_up: bool) -> list[Given]:
    if data.startswith(_PARQUET):
        return from_rows(_parquet(data), spec, made_up=made_up)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError("is neither UTF-8 text nor Parquet; write it again as UTF-8") from error
    if not text.lstrip().startswith(("{", "[")):
        return from_rows(_csv(text), spec, made_up=made_up)
    return spec.read_json(parse_json(text), made_up=made_up)


def _csv(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (line, values by column); lines count from 1, the line of names included."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        _check_columns(reader.fieldnames or [])
        for row in reader:
            if None in row:
                raise FileError(f"row {reader.line_num}: has more cells than columns; quote its commas")
            yield reader.line_num, {name: unquoted(value) if value else value for name, value in row.items()}
    except csv.Error as error:
        raise FileError(f"row {reader.line_num}: no valid CSV ({error}); write it again") from error


def _parquet(data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield (row from 1, values by column)."""
    import pyarrow as pa  # noqa: PLC0415 - never in the web process
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        _check_columns(file.schema_arrow.names)
        wanted = [name for name in ("kind", *NEEDED, *OPTIONAL) if name in file.schema_arrow.names]
        number = 0
        for batch in file.iter_batches(columns=wanted):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"no valid Parquet ({error}); write it again") from error


def _check_columns(names: Sequence[str]) -> None:
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise FileError(
            f"row 1: column {missing[0]} is missing; rows need {', '.join(NEEDED)}, and may have kind and seconds"
        )
    twice = [name for name in ("kind", *NEEDED, *OPTIONAL) if list(names).count(name) > 1]
    if twice:
        raise FileError(f"row 1: column {twice[0]} stands twice; keep one")


def _write(source: JudgmentImport, given: Sequence[Given], path: Path) -> None:
    words = {row.rater for row in given}
    hashes = {word: rater_hash(source.project, word) for word in words}
    _check_new(source, given, hashes, path)
    ImportedJudgment.objects.bulk_create(
        (
            ImportedJudgment(
                source=source,
                item=row.item,
                rater=hashes[row.rater],
                answer=dict(row.answer),
                active_seconds=row.seconds,
            )
            for row in given
        ),
        batch_size=AT_ONCE,
    )


def _check_new(source: JudgmentImport, given: Sequence[Given], hashes: Mapping[str, str], path: Path) -> None:
    earlier = ImportedJudgment.objects.filter(source__project=source.project_id, source__kind=source.kind)
    stored, known = set(hashes.values()), {}
    own = _collected(source, hashes)
    for item, rater, name in earlier.values_list("item", "rater", "source__name").iterator(CHUNK):
        if rater in stored:
            known[item, rater] = name
        if rater in hashes:  # the file names raters as this project's exports do
            own.add((item, rater))
    for row in given:
        came_with = known.get((row.item, hashes[row.rater]))
        if came_with is not None:
            raise BadFile(
                f"{path}: item {row.item!r}, rater {row.rater!r}: that rater’s judgment of it came in with "
                f"“{came_with}”; take it out of this file"
            )
        if (row.item, row.rater) in own:
            raise BadFile(
                f"{path}: item {row.item!r}, rater {row.rater!r}: this project holds that judgment and exported it; "
                "take it out of this file"
            )


def _collected(source: JudgmentImport, words: Collection[str]) -> set[tuple[str, str]]:
    """Return (item, rater) of judgments collected here whose raters the file names as this project's exports do."""
    project, kind = source.project, source.kind
    hashes = {pk: word for pk, word in worker_hashes(project, kind).items() if word in words}
    if not hashes:
        return set()
    rows = judged(project=project, kind=kind, workers=list(hashes))
    return {(row.item, hashes[row.worker]) for row in rows if row.worker is not None}
