"""Export one row per rating as CSV and Parquet, with keyed hashes for people, into a folder that is never served."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone

from hits.domain.files.atomic_files import file_sha256, sync_to_disk
from hits.domain.files.csv_download import csv_lines, escape_formula
from hits.domain.hashing import keyed_worker_hash
from hits.domain.jobs.queues import Queue
from hits.models import Job, Project, Worker
from hits.services.errors import Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from validation.domain.judging.ratings import RatingError
from validation.domain.reports.rater_rows import COLUMNS, RaterRow, rater_rows
from validation.registry import spec_of
from validation.selectors import report as selectors
from validation.selectors.ratings import read_judgments
from validation.services.report import HEAVY_JUDGMENTS, check_judging_kind

CSV, PARQUET, MANIFEST = "rows.csv", "rows.parquet", "manifest.json"
FILE_NAMES = (CSV, PARQUET)
ROWS_CHUNK_SIZE = 20_000  # rows in memory at a time


@dataclass(frozen=True, slots=True)
class RowsFile:
    """An exported file; ``bytes`` is its size."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RaterRowFiles:
    """The files of one export, their numbers of rows and judgments, and when they were made."""

    rows: int
    judgments: int
    made_at: datetime
    files: tuple[RowsFile, ...]

    def as_row(self) -> dict[str, Any]:
        """Return the export as plain data that JSON can hold."""
        return asdict(self) | {"made_at": self.made_at.isoformat()}


def request_rater_rows(*, project: Project, kind: str, by: AbstractBaseUser | None) -> Job:
    """Queue the export.

    Raises:
        Refused: no such kind, or no judgments.
        Conflict: an export is queued or running already.
    """
    check_judging_kind(kind)
    judgments = selectors.count_judgments(project, kind)
    if not judgments:
        raise Refused("files: there are no judgments yet")
    return jobs.enqueue(
        task=selectors.MAKE_ROWS_TASK,
        title=f"Files of per-rater rows, {spec_of(kind).title.lower()}",
        project=project,
        by=by,
        exclusive_key=selectors.rater_rows_job_key(project, kind),
        target_queue=Queue.IO if judgments > HEAVY_JUDGMENTS else None,
        kind=kind,
    )


def rows_folder(project: Project, kind: str) -> Path:
    """Return the folder of a kind's files, inside the media folder, which serves only images."""
    return Path(settings.MEDIA_ROOT) / "judgments" / f"{project.pk}-{kind}"


def find_rater_row_files(project: Project, kind: str) -> RaterRowFiles | None:
    """Return the exported files; ``None`` if there are none, or one is missing."""
    folder = rows_folder(project, kind)
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        files = tuple(RowsFile(**file) for file in manifest["files"])
        made_at = datetime.fromisoformat(manifest["made_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not all((folder / file.name).is_file() for file in files):
        return None
    return RaterRowFiles(manifest["rows"], manifest["judgments"], made_at, files)


def write_rater_rows(
    *, project: Project, kind: str, folder: Path | None = None, progress: Progress | None = None
) -> RaterRowFiles:
    """Write both files and their manifest atomically, in place of earlier ones.

    Args:
        folder: the target; by default the folder that the page reads.

    Raises:
        Refused: the folder is not writable, or an answer is not on its scale.
    """
    target = folder or rows_folder(project, kind)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temp_folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=".rows-"))
    except OSError as error:
        raise Refused(f"{target}: cannot be written ({error.strerror}); choose another folder") from error
    try:
        rows, judgments = _write_files(temp_folder, project, kind, progress)
        paths = [temp_folder / name for name in FILE_NAMES]
        files = tuple(RowsFile(path.name, path.stat().st_size, file_sha256(path)) for path in paths)
        written = RaterRowFiles(rows, judgments, timezone.now(), files)
        (temp_folder / MANIFEST).write_text(json.dumps(written.as_row()), "utf-8")
        _replace_files(temp_folder, target)
    except RatingError as error:
        raise Refused(str(error)) from error
    finally:
        shutil.rmtree(temp_folder, ignore_errors=True)
    return written


def _replace_files(temp_folder: Path, target: Path) -> None:
    """Move the files into the target folder, the manifest last: it marks them as complete."""
    target.mkdir(parents=True, exist_ok=True)
    (target / MANIFEST).unlink(missing_ok=True)
    for name in (*FILE_NAMES, MANIFEST):
        sync_to_disk(temp_folder / name)
        (temp_folder / name).replace(target / name)
    sync_to_disk(target)


def _write_files(folder: Path, project: Project, kind: str, progress: Progress | None) -> tuple[int, int]:
    """Write CSV and Parquet in parallel, a chunk of rows at a time; return the numbers of rows and judgments."""
    import pyarrow as pa  # noqa: PLC0415 - the web process never loads it
    import pyarrow.parquet as pq  # noqa: PLC0415

    schema = pa.schema(
        [
            ("kind", pa.string()),
            ("batch", pa.int64()),
            ("item", pa.string()),
            ("dimension", pa.string()),
            ("label", pa.string()),
            ("value", pa.float64()),
            ("rater", pa.string()),
            ("seconds", pa.float64()),
            ("submitted_at", pa.timestamp("us", tz="UTC")),
            ("simulated", pa.bool_()),
            ("imported", pa.bool_()),
        ]
    )
    rows = judgments = 0
    with ExitStack() as stack:
        text = stack.enter_context((folder / CSV).open("w", encoding="utf-8", newline=""))
        table = stack.enter_context(pq.ParquetWriter(folder / PARQUET, schema))
        text.writelines(csv_lines(COLUMNS, []))
        for chunk, judgment_count in _row_chunks(project, kind, progress):
            _write_csv(text, chunk)
            columns = zip(*chunk, strict=True)
            table.write_table(pa.table([list(column) for column in columns], schema=schema))
            rows, judgments = rows + len(chunk), judgment_count
    return rows, judgments


def _write_csv(file: TextIO, rows: Sequence[RaterRow]) -> None:
    csv_text = csv_lines((), (_cells(row) for row in rows))
    next(csv_text)  # skips the header, which is already written
    file.writelines(csv_text)


def _cells(row: RaterRow) -> list[object]:
    return [
        row.kind,
        row.batch,
        escape_formula(row.item),
        row.dimension,
        escape_formula(row.label),
        row.value,
        row.rater,
        row.seconds,
        row.submitted_at.isoformat() if row.submitted_at else None,
        int(row.simulated),
        int(row.imported),
    ]


def _row_chunks(
    project: Project, kind: str, progress: Progress | None
) -> Iterator[tuple[list[RaterRow], int]]:
    """Yield chunks of rows, each with the number of judgments read so far."""
    hashes = worker_hashes(project, kind)
    total, spec = selectors.count_judgments(project, kind), spec_of(kind)
    buffer: list[RaterRow] = []
    read = 0
    for read, row in enumerate(read_judgments(project=project, kind=kind), start=1):
        buffer += rater_rows(row, hashes[row.worker] if row.worker is not None else row.rater[1:], spec)
        if len(buffer) >= ROWS_CHUNK_SIZE:
            if progress is not None:
                progress.advance(read, max(total, read))
            yield buffer, read
            buffer = []
    if buffer:
        yield buffer, read


def worker_hashes(project: Project, kind: str) -> dict[int, str]:
    """Return the hashes that replace the workers of a kind in exports, by primary key; one query."""
    workers = Worker.objects.filter(
        assignments__hit__unit__batch__project=project, assignments__hit__unit__batch__kind=kind
    ).distinct()
    return {
        pk: keyed_worker_hash(settings.WORKER_HASH_SECRET, environment, worker_id)
        for pk, environment, worker_id in workers.values_list("pk", "environment", "worker_id")
    }
