"""Write per-rater rows as CSV and Parquet, with keyed hashes for people, into a folder that is never served."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone

from hits.domain.files.atomic_files import file_sha256, sync
from hits.domain.files.csv_download import csv_lines, words
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
from validation.selectors.ratings import judged
from validation.services.report import HEAVY, check_kind

CSV, PARQUET, MANIFEST = "rows.csv", "rows.parquet", "manifest.json"
NAMES = (CSV, PARQUET)
CHUNK = 20_000  # rows that are held at once


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file of rows that lies ready."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class MadeRows:
    """The files of one making: how many rows of how many judgments, and when."""

    rows: int
    judgments: int
    made_at: datetime
    files: tuple[MadeFile, ...]


def request_rows(*, project: Project, kind: str, by: AbstractBaseUser | None) -> Job:
    """Queue the making of the files.

    Raises:
        Refused: no such kind, or nothing was judged.
        Conflict: they are being made.
    """
    check_kind(kind)
    judgments = selectors.counted(project, kind)
    if not judgments:
        raise Refused("files: nothing has been judged yet")
    return jobs.enqueue(
        task=selectors.MAKE_ROWS,
        title=f"Files of per-rater rows, {spec_of(kind).title.lower()}",
        project=project,
        by=by,
        exclusive_key=selectors.rows_key(project, kind),
        on=Queue.IO if judgments > HEAVY else None,
        kind=kind,
    )


def rows_folder(project: Project, kind: str) -> Path:
    """Return where a kind's files lie, or will: in the media folder, of which only images are ever served."""
    return Path(settings.MEDIA_ROOT) / "judgments" / f"{project.pk}-{kind}"


def made_rows(project: Project, kind: str) -> MadeRows | None:
    """Return the files that lie ready; ``None`` when none were made, or somebody removed one."""
    folder = rows_folder(project, kind)
    try:
        found = json.loads((folder / MANIFEST).read_text("utf-8"))
        files = tuple(MadeFile(**file) for file in found["files"])
        made_at = datetime.fromisoformat(found["made_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not all((folder / file.name).is_file() for file in files):
        return None
    return MadeRows(found["rows"], found["judgments"], made_at, files)


def make_rows(
    *, project: Project, kind: str, folder: Path | None = None, progress: Progress | None = None
) -> MadeRows:
    """Write both files and their manifest, whole or not at all, in the place of earlier ones.

    Args:
        folder: where to; by default where the page looks for them.

    Raises:
        Refused: the folder cannot be written, or an answer is not on its scale.
    """
    target = folder or rows_folder(project, kind)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=".rows-"))
    except OSError as error:
        raise Refused(f"{target}: cannot be written ({error.strerror}); choose another place") from error
    try:
        rows, judgments = _write(beside, project, kind, progress)
        files = tuple(_fact(beside / name) for name in NAMES)
        made = MadeRows(rows, judgments, timezone.now(), files)
        (beside / MANIFEST).write_text(json.dumps(_manifest(made)), "utf-8")
        _put(beside, target)
    except RatingError as error:
        raise Refused(str(error)) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return made


def _manifest(made: MadeRows) -> dict[str, Any]:
    return {
        "rows": made.rows,
        "judgments": made.judgments,
        "made_at": made.made_at.isoformat(),
        "files": [{"name": f.name, "bytes": f.bytes, "sha256": f.sha256} for f in made.files],
    }


def _put(beside: Path, target: Path) -> None:
    """Move the files to their place, the manifest last: it is what says that they are there."""
    target.mkdir(parents=True, exist_ok=True)
    (target / MANIFEST).unlink(missing_ok=True)
    for name in (*NAMES, MANIFEST):
        sync(beside / name)
        (beside / name).replace(target / name)
    sync(target)


def _write(folder: Path, project: Project, kind: str, progress: Progress | None) -> tuple[int, int]:
    """Write CSV and Parquet side by side, a chunk of rows at a time; return how many rows and judgments."""
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
        for found, done in _chunks(project, kind, progress):
            _write_csv(text, found)
            columns = zip(*found, strict=True)
            table.write_table(pa.table([list(column) for column in columns], schema=schema))
            rows, judgments = rows + len(found), done
    return rows, judgments


def _write_csv(file: TextIO, rows: Sequence[RaterRow]) -> None:
    lines = csv_lines((), (_cells(row) for row in rows))
    next(lines)  # the names of the columns stand at the head of the file
    file.writelines(lines)


def _cells(row: RaterRow) -> list[object]:
    return [
        row.kind,
        row.batch,
        words(row.item),
        row.dimension,
        words(row.label),
        row.value,
        row.rater,
        row.seconds,
        row.submitted_at.isoformat() if row.submitted_at else None,
        int(row.simulated),
        int(row.imported),
    ]


def _chunks(project: Project, kind: str, progress: Progress | None) -> Iterator[tuple[list[RaterRow], int]]:
    """Yield rows by the chunk, and how many judgments were read so far."""
    hashes = worker_hashes(project, kind)
    total, spec = selectors.counted(project, kind), spec_of(kind)
    held: list[RaterRow] = []
    done = 0
    for done, row in enumerate(judged(project=project, kind=kind), start=1):
        held += rater_rows(row, hashes[row.worker] if row.worker is not None else row.rater[1:], spec)
        if len(held) >= CHUNK:
            if progress is not None:
                progress.advance(done, max(total, done))
            yield held, done
            held = []
    if held:
        yield held, done


def worker_hashes(project: Project, kind: str) -> dict[int, str]:
    """Return the only names under which workers of a kind leave the project, by row key; one query."""
    workers = Worker.objects.filter(
        assignments__hit__unit__batch__project=project, assignments__hit__unit__batch__kind=kind
    ).distinct()
    return {
        pk: keyed_worker_hash(settings.WORKER_HASH_SECRET, environment, worker_id)
        for pk, environment, worker_id in workers.values_list("pk", "environment", "worker_id")
    }


def _fact(path: Path) -> MadeFile:
    return MadeFile(path.name, path.stat().st_size, file_sha256(path))
