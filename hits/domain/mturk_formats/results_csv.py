"""Results as Mechanical Turk's requester site writes them, and decisions as it reads them back.

The columns and their order are those of a batch's results there, so that a script made for them goes on working.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hits.domain.states import Verdict

HIT_COLUMNS = (
    "HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime", "MaxAssignments",
    "RequesterAnnotation", "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration",
    "NumberOfSimilarHITs", "LifetimeInSeconds",
)  # fmt: skip
ASSIGNMENT_COLUMNS = (
    "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime", "AutoApprovalTime", "ApprovalTime",
    "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds", "LifetimeApprovalRate", "Last30DaysApprovalRate",
    "Last7DaysApprovalRate",
)  # fmt: skip
DECISION_COLUMNS = ("Approve", "Reject")
INPUT, ANSWER = "Input.", "Answer."
MAX_FEEDBACK = 1000
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class ResultsError(ValueError):
    """A results file that cannot be used; the message names row and column, and how to mend it."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision of a results file: ``row`` is the file's line, ``feedback`` what the worker reads."""

    row: int
    assignment_id: str
    verdict: Verdict
    feedback: str

    @property
    def is_approval(self) -> bool:
        """Tell whether it approves."""
        return self.verdict is Verdict.APPROVE


def moment(at: datetime | None) -> str:
    """Return a time as Amazon's files write it, in UTC: ``Sat Nov 21 13:07:05 UTC 2026``; nothing for none."""
    if at is None:
        return ""
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{day} {month} {at.day:02d} {at:%H:%M:%S} UTC {at.year}"


def rate(approved: int, decided: int) -> str:
    """Return an approval rate as Amazon's files write it: ``80% (4/5)``."""
    return f"{100 * approved // decided if decided else 0}% ({approved}/{decided})"


def flat(value: Any, path: str = "") -> dict[str, str]:
    """Return nested data by path, as people write it: ``observations[0].clue``."""
    found: dict[str, str] = {}
    _flatten(value, path, found)
    return found


def _flatten(value: Any, path: str, found: dict[str, str]) -> None:
    if isinstance(value, str):
        found[path] = value
    elif isinstance(value, dict):
        for key, inner in value.items():
            _flatten(inner, f"{path}.{key}" if path else str(key), found)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _flatten(inner, f"{path}[{index}]", found)
    else:
        found[path] = _text(value)


def guarded(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: what would begin one gets a ``'`` in front."""
    return f"'{cell}" if cell.startswith(_STARTS_A_FORMULA) else cell


def csv_lines(rows: Iterable[Sequence[str]], *, guard: bool) -> Iterator[str]:
    """Yield rows as lines of CSV, every cell in quotation marks as in Amazon's files."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    for row in rows:
        writer.writerow([guarded(cell) if guard else cell for cell in row])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def parse_decisions(rows: Iterable[tuple[int, Mapping[str, str]]]) -> list[Decided]:
    """Return the decisions of a results file, given as rows by column with their lines.

    An ``x`` in Approve approves, and so does any other text, which the worker reads as feedback. The text in Reject
    is the reason of the rejection; an ``x`` alone is none. Rows with neither are left as they are.

    Raises:
        ResultsError: both are filled in, a rejection has no reason, an assignment stands twice or has no id.
    """
    found: list[Decided] = []
    seen: dict[str, int] = {}
    for line, row in rows:
        approve, reject = (row.get(column, "").strip() for column in DECISION_COLUMNS)
        if not approve and not reject:
            continue
        decided = _decided(line, row.get("AssignmentId", "").strip(), approve, reject)
        if decided.assignment_id in seen:
            raise ResultsError(
                f"line {line}, column AssignmentId: {decided.assignment_id} stands in line "
                f"{seen[decided.assignment_id]} already; decide each assignment once"
            )
        seen[decided.assignment_id] = line
        found.append(decided)
    if not found:
        raise ResultsError("nothing is decided: write an x into Approve, or a reason into Reject")
    return found


def _decided(line: int, assignment_id: str, approve: str, reject: str) -> Decided:
    if not assignment_id:
        raise ResultsError(
            f"line {line}, column AssignmentId: is empty; keep the ids as they were downloaded"
        )
    if approve and reject:
        raise ResultsError(f"line {line}, columns Approve and Reject: both are filled in; empty one of them")
    feedback = "" if approve.lower() == "x" else approve or reject
    if reject and reject.lower() == "x":
        raise ResultsError(
            f"line {line}, column Reject: write the reason instead of an x; the worker reads it"
        )
    if len(feedback) > MAX_FEEDBACK:
        column = "Approve" if approve else "Reject"
        raise ResultsError(f"line {line}, column {column}: over {MAX_FEEDBACK:,} characters; shorten it")
    return Decided(line, assignment_id, Verdict.APPROVE if approve else Verdict.REJECT, feedback)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
