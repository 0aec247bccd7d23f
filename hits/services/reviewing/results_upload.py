"""Decide by an uploaded results file: the whole file is checked first, and decided as a whole or not at all."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits import registry
from hits.domain.mturk_formats.results_csv import Decided, ResultsError, parse_decisions
from hits.domain.states import AssignmentStatus, Verdict
from hits.domain.task_template.rows import RowsError, Table, parse_rows
from hits.models import Assignment, Batch, Job
from hits.selectors.results import assignments_by_id
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.reviewing import review

SETTLE_TASK = "hits.settle_results"
MOST_ROWS, MOST_COLUMNS = 200_000, 5_000
WANTED = ("AssignmentId", "Approve", "Reject")
_STANDS = {Verdict.APPROVE: AssignmentStatus.APPROVED, Verdict.REJECT: AssignmentStatus.REJECTED}


@dataclass(frozen=True, slots=True)
class Upload:
    """What a results file comes to: decisions to write, how many stand already, and what approving costs."""

    batch: Batch
    decisions: tuple[tuple[Assignment, Decided], ...]
    standing: int
    cents: int

    @property
    def approved(self) -> int:
        """How many are approved."""
        return sum(decided.is_approval for _, decided in self.decisions)

    @property
    def rejected(self) -> int:
        """How many are rejected."""
        return len(self.decisions) - self.approved


def read_upload(*, batch: Batch, data: bytes | str) -> Upload:
    """Check a results file whose columns Approve and Reject were filled in. Nothing is written.

    Raises:
        Refused: it names row and column: no CSV, a column that is missing, an assignment of another batch, a reason
            that is missing, a decision that contradicts one that stands.
    """
    try:
        table = parse_rows(data, most_rows=MOST_ROWS, most_columns=MOST_COLUMNS)
        _check_columns(table)
        wanted = parse_decisions(
            (table.lines[index], table.values(index)) for index in range(len(table.rows))
        )
    except (RowsError, ResultsError) as error:
        raise Refused(f"results: {error}") from error
    known = assignments_by_id(batch)
    open_ones, standing = [], 0
    for decided in wanted:
        row = known.get(decided.assignment_id)
        if row is None:
            raise Refused(
                f"results: line {decided.row}, column AssignmentId: {decided.assignment_id} is no confirmed "
                "assignment of this batch; upload the file that was downloaded from it"
            )
        if _stands(row, decided):
            standing += 1
        else:
            open_ones.append((row, decided))
    cents = sum(_cost(row) for row, decided in open_ones if decided.is_approval)
    return Upload(batch, tuple(open_ones), standing, cents)


def apply_upload(*, upload: Upload, by: AbstractBaseUser | None) -> Job | None:
    """Write all decisions of a checked file, and queue their calls; ``None`` where all of them stood already.

    Raises:
        Refused: one of them cannot be decided any more; then none is.
    """
    if not upload.decisions:
        return None
    batch = upload.batch
    with transaction.atomic():
        for row, decided in upload.decisions:
            try:
                review.decide(assignment=row, verdict=decided.verdict, by=by, feedback=decided.feedback)
            except Refused as error:
                raise type(error)(
                    f"results: line {decided.row}: {error} Nothing of the file was decided."
                ) from error
        audit.record(
            project=batch.project,
            actor=by,
            action="results.upload",
            subject=batch.pk,
            approved=upload.approved,
            rejected=upload.rejected,
        )
        return jobs.enqueue(
            task=SETTLE_TASK,
            title=f"Carry out uploaded decisions of {batch.name}"[:160],
            project=batch.project,
            by=by,
            batch=batch.pk,
        )


def _check_columns(table: Table) -> None:
    missing = [name for name in WANTED if name not in table.columns]
    if missing:
        raise ResultsError(
            f"line 1: has no column {missing[0]}; use the file that was downloaded, with its heading"
        )


def _stands(row: Assignment, decided: Decided) -> bool:
    """Tell whether the same decision stands already, so that a file may be uploaded again.

    Raises:
        Conflict: another one stands.
    """
    last = row.latest_decision
    verdict = last.verdict if last else None
    if row.status == _STANDS[decided.verdict]:
        return True
    if row.status != AssignmentStatus.APPROVED and verdict == decided.verdict:
        return True  # decided here, and on its way
    if verdict is not None or row.status != AssignmentStatus.SUBMITTED:
        word = row.status.lower() if row.status != AssignmentStatus.SUBMITTED else "decided otherwise"
        raise Conflict(
            f"results: line {decided.row}: {decided.assignment_id} is {word} already; empty that row's decision"
        )
    return False


def _cost(row: Assignment) -> int:
    batch = row.hit.unit.batch
    assert row.submission is not None
    bonus = registry.get(batch.kind).bonus_items(row.submission.answer) * batch.bonus_cents
    fees = batch.fees
    cents = batch.reward_cents + fees.fee_cents(batch.reward_cents, row.hit.max_assignments)
    return cents + (bonus + fees.bonus_fee_cents(bonus) if bonus else 0)
