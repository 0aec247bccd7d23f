"""Write results as Mechanical Turk's requester site does, and read decisions from such a file.

The columns and their order are those of the requester site, so that scripts written for it keep working.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hits.domain.files.csv_download import Echo, escape_formula
from hits.domain.states import ReviewVerdict

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
INPUT_PREFIX, ANSWER_PREFIX = "Input.", "Answer."
MAX_FEEDBACK = 1000
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class ResultsError(ValueError):
    """A results file that cannot be used; the message names row, column and fix."""


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """The columns of a batch's inputs and answers, in the order of their first appearance."""

    inputs: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Return all column names, in the order of the file."""
        return [
            *HIT_COLUMNS,
            *ASSIGNMENT_COLUMNS,
            *(INPUT_PREFIX + name for name in self.inputs),
            *(ANSWER_PREFIX + name for name in self.answers),
            *DECISION_COLUMNS,
        ]


@dataclass(frozen=True, slots=True)
class ResultsDecision:
    """One decision of a results file: ``row`` is the file's line, ``feedback`` the text for the worker."""

    row: int
    assignment_id: str
    verdict: ReviewVerdict
    feedback: str

    @property
    def is_approval(self) -> bool:
        """True for an approval."""
        return self.verdict is ReviewVerdict.APPROVE


def format_time(at: datetime | None) -> str:
    """Return a time as in Amazon's files, in UTC: ``Sat Nov 21 13:07:05 UTC 2026``; empty for ``None``."""
    if at is None:
        return ""
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{day} {month} {at.day:02d} {at:%H:%M:%S} UTC {at.year}"


def format_rate(approved: int, decided: int) -> str:
    """Return an approval rate as in Amazon's files: ``80% (4/5)``."""
    return f"{100 * approved // decided if decided else 0}% ({approved}/{decided})"


def flatten(value: Any, path: str = "") -> dict[str, str]:
    """Return nested data by path, such as ``observations[0].clue``."""
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


def csv_lines(rows: Iterable[Sequence[str]], *, guard: bool) -> Iterator[str]:
    """Yield rows as lines of CSV, with every cell quoted as in Amazon's files."""
    writer = csv.writer(Echo(), quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    for row in rows:
        yield writer.writerow([escape_formula(cell) if guard else cell for cell in row])


def parse_decisions(rows: Iterable[tuple[int, Mapping[str, str]]]) -> list[ResultsDecision]:
    """Return the decisions of a results file, given as (line, row by column).

    An ``x`` in Approve approves; any other text also approves and is feedback for the worker. The text in Reject is
    the reason of the rejection; an ``x`` alone is refused. Rows with neither are skipped.

    Raises:
        ResultsError: both are filled in, a rejection has no reason, an assignment occurs twice or has no id.
    """
    found: list[ResultsDecision] = []
    seen: dict[str, int] = {}
    for line, row in rows:
        approve, reject = (row.get(column, "").strip() for column in DECISION_COLUMNS)
        if not approve and not reject:
            continue
        decision = _parse_decision(line, row.get("AssignmentId", "").strip(), approve, reject)
        if decision.assignment_id in seen:
            raise ResultsError(
                f"line {line}, column AssignmentId: {decision.assignment_id} is in line "
                f"{seen[decision.assignment_id]} already; decide each assignment once"
            )
        seen[decision.assignment_id] = line
        found.append(decision)
    if not found:
        raise ResultsError("the file has no decision: write an x into Approve, or a reason into Reject")
    return found


def _parse_decision(line: int, assignment_id: str, approve: str, reject: str) -> ResultsDecision:
    if not assignment_id:
        raise ResultsError(f"line {line}, column AssignmentId: is empty; keep the downloaded ids")
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
    return ResultsDecision(
        line, assignment_id, ReviewVerdict.APPROVE if approve else ReviewVerdict.REJECT, feedback
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
