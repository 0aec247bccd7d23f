"""Decide by an uploaded results file: the whole file is checked first, and all of its decisions apply or none."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.mturk_formats.results_csv import ResultsDecision, ResultsError, parse_decisions
from hits.domain.states import AssignmentStatus, ReviewVerdict
from hits.domain.task_template.rows import RowsError, Table, parse_rows
from hits.models import Assignment, Batch, Job
from hits.selectors.results import assignments_by_id
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.reviewing import review

SETTLE_TASK = "hits.settle_results"
MAX_ROWS, MAX_COLUMNS = 200_000, 5_000
REQUIRED_COLUMNS = ("AssignmentId", "Approve", "Reject")
_STATUS_BY_VERDICT = {
    ReviewVerdict.APPROVE: AssignmentStatus.APPROVED,
    ReviewVerdict.REJECT: AssignmentStatus.REJECTED,
}


@dataclass(frozen=True, slots=True)
class ResultsUpload:
    """A checked results file: the decisions to write, the number of existing ones, and the cost of approvals."""

    batch: Batch
    decisions: tuple[tuple[Assignment, ResultsDecision], ...]
    already_decided: int
    cents: int

    @property
    def approval_count(self) -> int:
        """The number of approvals."""
        return sum(decided.is_approval for _, decided in self.decisions)

    @property
    def rejection_count(self) -> int:
        """The number of rejections."""
        return len(self.decisions) - self.approval_count


def read_upload(*, batch: Batch, data: bytes | str) -> ResultsUpload:
    """Check a results file with filled columns Approve and Reject. It writes nothing.

    Raises:
        Refused: not a CSV, a missing column, an assignment of another batch, a missing reason, or a decision that
            contradicts an existing one; the message names row and column.
    """
    try:
        table = parse_rows(data, max_rows=MAX_ROWS, max_columns=MAX_COLUMNS)
        _check_columns(table)
        decisions = parse_decisions(
            (table.lines[index], table.row_values(index)) for index in range(len(table.rows))
        )
    except (RowsError, ResultsError) as error:
        raise Refused(f"results: {error}") from error
    known = assignments_by_id(batch)
    undecided, already_decided = [], 0
    for decided in decisions:
        row = known.get(decided.assignment_id)
        if row is None:
            raise Refused(
                f"results: line {decided.row}, column AssignmentId: {decided.assignment_id} is not a confirmed "
                "assignment of this batch; upload the file that you downloaded for this batch"
            )
        if _is_already_decided(row, decided):
            already_decided += 1
        else:
            undecided.append((row, decided))
    cents = sum(_approval_cents(row) for row, decided in undecided if decided.is_approval)
    return ResultsUpload(batch, tuple(undecided), already_decided, cents)


def apply_upload(*, upload: ResultsUpload, by: AbstractBaseUser | None) -> Job | None:
    """Write all decisions of a checked file, and queue their calls; ``None`` if all of them exist already.

    Raises:
        Refused: one of them is impossible now; then none is written.
    """
    if not upload.decisions:
        return None
    batch = upload.batch
    with transaction.atomic():
        for row, decided in upload.decisions:
            try:
                review.decide_assignment(
                    assignment=row, verdict=decided.verdict, by=by, feedback=decided.feedback
                )
            except Refused as error:
                raise type(error)(
                    f"results: line {decided.row}: {error} No decision of the file was applied."
                ) from error
        audit.record(
            project=batch.project,
            actor=by,
            action="results.upload",
            subject=batch.pk,
            approved=upload.approval_count,
            rejected=upload.rejection_count,
        )
        return jobs.enqueue_for_batch(
            batch=batch, task=SETTLE_TASK, title=f"Apply uploaded decisions of {batch.name}", by=by
        )


def _check_columns(table: Table) -> None:
    missing = [name for name in REQUIRED_COLUMNS if name not in table.columns]
    if missing:
        raise ResultsError(f"line 1: has no column {missing[0]}; use the downloaded file with its heading")


def _is_already_decided(row: Assignment, decided: ResultsDecision) -> bool:
    """Return whether the same decision exists, so that a file may be uploaded again.

    Raises:
        Conflict: another decision exists.
    """
    latest = row.latest_decision
    verdict = latest.verdict if latest else None
    if row.status == _STATUS_BY_VERDICT[decided.verdict]:
        return True
    if row.status != AssignmentStatus.APPROVED and verdict == decided.verdict:
        return True  # decided here, and not settled yet
    if verdict is not None or row.status != AssignmentStatus.SUBMITTED:
        state = row.status.lower() if row.status != AssignmentStatus.SUBMITTED else "decided otherwise"
        raise Conflict(
            f"results: line {decided.row}: {decided.assignment_id} is {state} already; "
            "delete the decision in this line"
        )
    return False


def _approval_cents(row: Assignment) -> int:
    batch = row.hit.unit.batch
    assert row.submission is not None
    items = registry.get_kind(batch.kind).bonus_items(row.submission.answer)
    return batch.approval_cost(row.hit.max_assignments, items).total_cents
