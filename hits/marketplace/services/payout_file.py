"""Read a CSV of payouts: the whole file or nothing, and each slip named by row and field."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import date

from hits.domain.money.usd import parse_typed_usd
from hits.marketplace.errors import Refused
from hits.marketplace.models import Worker

from .payouts import FieldRefused, RowRefused, Transfer, check

COLUMNS = ("worker_id", "amount", "date", "means", "reference")
MAX_BYTES = 1_000_000
MAX_ROWS = 1_000
SHOWN = 20  # slips that are listed at once; mending them may bring up more


@dataclass(frozen=True)
class Row:
    """A row of the file: its line, and what it says."""

    line: int
    transfer: Transfer


class FileRefused(Refused):
    """A file that cannot be used; ``slips`` says why, one sentence for each row and field."""

    def __init__(self, slips: list[str], more: int = 0) -> None:
        super().__init__(" ".join(slips))
        self.slips = slips
        self.more = more


def decode(content: bytes) -> str:
    """Return the text of an uploaded file, or raise FileRefused."""
    if len(content) > MAX_BYTES:
        raise FileRefused([f"The file has {len(content):,} bytes; {MAX_BYTES:,} are the most. Split it."])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileRefused([f"The file is not UTF-8 (byte {error.start}). Save it as CSV UTF-8."]) from None


def read(text: str) -> list[Row]:
    """Return the rows in their order.

    Raises:
        FileRefused: a column is missing, a row is short or long, a worker is unknown or a field is bad.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise FileRefused([f"Line {reader.line_num}: this is no CSV ({error})."]) from None
    if not lines:
        raise FileRefused([f"The file is empty. Its first line is {','.join(COLUMNS)}."])
    header = [cell.strip().lower() for cell in lines[0][1]]
    if sorted(header) != sorted(COLUMNS):
        raise FileRefused(
            [f"Line 1: the columns are {', '.join(header)}; they have to be {', '.join(COLUMNS)}."]
        )
    body = lines[1:]
    if not body:
        raise FileRefused(["The file has no rows below its first line."])
    if len(body) > MAX_ROWS:
        raise FileRefused([f"The file has {len(body):,} rows; {MAX_ROWS:,} are the most. Split it."])
    return _rows(header, body)


def located(rows: list[Row], problem: RowRefused) -> FileRefused:
    """Return a refusal of the service in the words of the file: which line, which field."""
    return FileRefused([f"Line {rows[problem.number - 1].line}, {problem.field}: {problem}"])


def _rows(header: list[str], body: list[tuple[int, list[str]]]) -> list[Row]:
    place = header.index("worker_id")
    ids = {cells[place].strip() for _, cells in body if len(cells) == len(header)}
    workers = {worker.worker_id: worker for worker in _workers(ids)}
    rows, slips = [], []
    for line, cells in body:
        if len(cells) != len(header):
            slips.append(f"Line {line}: it has {len(cells)} fields instead of {len(header)}.")
            continue
        try:
            rows.append(Row(line, _transfer(dict(zip(header, cells, strict=True)), workers)))
        except FieldRefused as problem:
            slips.append(f"Line {line}, {problem.field}: {problem}")
    if slips:
        raise FileRefused(slips[:SHOWN], more=max(0, len(slips) - SHOWN))
    return rows


def _workers(ids: set[str]) -> list[Worker]:
    wanted = sorted(ids)
    found: list[Worker] = []
    for start in range(0, len(wanted), 500):  # a query takes so many values at most
        found += Worker.objects.filter(worker_id__in=wanted[start : start + 500])
    return found


def _transfer(cells: dict[str, str], workers: dict[str, Worker]) -> Transfer:
    worker = workers.get(cells["worker_id"].strip())
    if worker is None:
        raise FieldRefused("worker_id", "There is no such worker here.")
    return check(
        Transfer(
            worker=worker,
            cents=amount_of(cells["amount"]),
            paid_on=day_of(cells["date"]),
            means=cells["means"],
            reference=cells["reference"],
        )
    )


def amount_of(typed: str) -> int:
    """Return the cents of an amount as people type it, or raise FieldRefused."""
    try:
        return parse_typed_usd(typed)
    except ValueError:
        raise FieldRefused(
            "amount", f"{typed.strip()!r} is no sum; use whole cents, such as 12.50."
        ) from None


def day_of(typed: str) -> date:
    """Return a day written as 2026-11-30, or raise FieldRefused."""
    try:
        return date.fromisoformat(typed.strip())
    except ValueError:
        raise FieldRefused("date", f"{typed.strip()!r} is no day; write it as 2026-11-30.") from None
