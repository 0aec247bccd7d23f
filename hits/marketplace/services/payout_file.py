"""Read a CSV of payouts, all or nothing. Each error names its line and field."""

import csv
import io
from dataclasses import dataclass
from datetime import date

from hits.domain.money.usd import parse_typed_usd
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Worker

from .payouts import PayoutFieldError, PayoutRowError, Transfer, clean_transfer

COLUMNS = ("worker_id", "amount", "date", "means", "reference")
MAX_BYTES = 1_000_000
MAX_ROWS = 1_000
MAX_SHOWN_ERRORS = 20  # errors that are listed together


@dataclass(frozen=True)
class PayoutRow:
    """A row of the file: its line number and its payout."""

    line: int
    transfer: Transfer


class PayoutFileError(ActionRefused):
    """An unusable file. ``errors`` has one message per row and field, ``hidden_count`` counts those left out."""

    def __init__(self, errors: list[str], hidden_count: int = 0) -> None:
        super().__init__(" ".join(errors))
        self.errors = errors
        self.hidden_count = hidden_count


def decode_file(content: bytes) -> str:
    """Return the text of an uploaded file. Raises PayoutFileError."""
    if len(content) > MAX_BYTES:
        raise PayoutFileError(
            [f"The file has {len(content):,} bytes; at most {MAX_BYTES:,} are allowed. Split it."]
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PayoutFileError(
            [f"The file is not UTF-8 (byte {error.start}). Save it as CSV UTF-8."]
        ) from None


def read_payout_rows(text: str) -> list[PayoutRow]:
    """Return the rows in their order.

    Raises:
        PayoutFileError: a column is missing, a row is short or long, a worker is unknown or a field is bad.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        numbered_rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise PayoutFileError([f"Line {reader.line_num}: this is not valid CSV ({error})."]) from None
    if not numbered_rows:
        raise PayoutFileError([f"The file is empty. Its first line must be {','.join(COLUMNS)}."])
    header = [cell.strip().lower() for cell in numbered_rows[0][1]]
    if sorted(header) != sorted(COLUMNS):
        raise PayoutFileError(
            [f"Line 1: the columns are {', '.join(header)}; they must be {', '.join(COLUMNS)}."]
        )
    data_rows = numbered_rows[1:]
    if not data_rows:
        raise PayoutFileError(["The file has no rows below its first line."])
    if len(data_rows) > MAX_ROWS:
        raise PayoutFileError(
            [f"The file has {len(data_rows):,} rows; at most {MAX_ROWS:,} are allowed. Split it."]
        )
    return _parse_rows(header, data_rows)


def to_file_error(rows: list[PayoutRow], problem: PayoutRowError) -> PayoutFileError:
    """Return the service's error with the line and field of the file."""
    return PayoutFileError([f"Line {rows[problem.number - 1].line}, {problem.field}: {problem}"])


def _parse_rows(header: list[str], data_rows: list[tuple[int, list[str]]]) -> list[PayoutRow]:
    worker_column = header.index("worker_id")
    ids = {cells[worker_column].strip() for _, cells in data_rows if len(cells) == len(header)}
    workers = Worker.objects.in_bulk(ids, field_name="worker_id")
    rows, errors = [], []
    for line, cells in data_rows:
        if len(cells) != len(header):
            errors.append(f"Line {line}: it has {len(cells)} fields instead of {len(header)}.")
            continue
        try:
            rows.append(PayoutRow(line, _parse_transfer(dict(zip(header, cells, strict=True)), workers)))
        except PayoutFieldError as problem:
            errors.append(f"Line {line}, {problem.field}: {problem}")
    if errors:
        raise PayoutFileError(errors[:MAX_SHOWN_ERRORS], hidden_count=max(0, len(errors) - MAX_SHOWN_ERRORS))
    return rows


def _parse_transfer(cells: dict[str, str], workers: dict[str, Worker]) -> Transfer:
    worker = workers.get(cells["worker_id"].strip())
    if worker is None:
        raise PayoutFieldError("worker_id", "There is no such worker.")
    return clean_transfer(
        Transfer(
            worker=worker,
            cents=parse_amount(cells["amount"]),
            paid_on=parse_day(cells["date"]),
            means=cells["means"],
            reference=cells["reference"],
        )
    )


def parse_amount(typed: str) -> int:
    """Return the cents of a typed amount, or raise PayoutFieldError."""
    try:
        return parse_typed_usd(typed)
    except ValueError:
        raise PayoutFieldError(
            "amount", f"{typed.strip()!r} is not an amount; use whole cents, such as 12.50."
        ) from None


def parse_day(typed: str) -> date:
    """Return a day written as 2026-11-30, or raise PayoutFieldError."""
    try:
        return date.fromisoformat(typed.strip())
    except ValueError:
        raise PayoutFieldError("date", f"{typed.strip()!r} is not a date; write it as 2026-11-30.") from None
