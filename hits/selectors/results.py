"""A batch's results in the columns of Mechanical Turk's requester site; always two passes over the rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from hits.domain.money.usd import format_dollars
from hits.domain.mturk_formats.answer_xml import join_values_by_name
from hits.domain.mturk_formats.results_csv import (
    DECISION_COLUMNS,
    ResultColumns,
    flatten,
    format_rate,
    format_time,
)
from hits.domain.states import AssignmentStatus, ReviewVerdict, SubmissionMatch
from hits.models import Assignment, Batch, Decision
from hits.selectors.listing import TaskListing, batch_listing
from hits.selectors.templates import KIND

CHUNK_SIZE = 500
_FIELDS = (
    "pk",
    "assignment_id",
    "status",
    "accepted_at",
    "submitted_at",
    "auto_approves_at",
    "worker_id",
    "worker__worker_id",
    "hit__hit_id",
    "hit__attempt_at",
    "hit__max_assignments",
    "hit__annotation",
    "hit__expires_at",
    "hit__unit__payload",
    "submission__answer",
)
_NOT_DECIDED = [""] * len(DECISION_COLUMNS)
_NO_RATES = ("", "", "")
Rates = Mapping[int, Sequence[str]]  # by worker id: lifetime, 30 days, 7 days


def result_rows(batch: Batch) -> Iterator[list[str]]:
    """Yield the heading, then a row per confirmed assignment, oldest first."""
    columns = result_columns(batch)
    yield columns.names
    listing, rates = batch_listing(batch), _approval_rates(batch)
    rows = _matched_assignments(batch).order_by("submitted_at", "id").values_list(*_FIELDS, named=True)
    stream = rows.iterator(chunk_size=CHUNK_SIZE)
    while chunk := list(islice(stream, CHUNK_SIZE)):
        decisions = _latest_decisions(row.pk for row in chunk)
        for row in chunk:
            worker_rates = rates.get(row.worker_id, _NO_RATES)
            yield _result_row(batch, listing, columns, row, decisions.get(row.pk), worker_rates)


def count_results(batch: Batch) -> int:
    """Return the number of result rows."""
    return _matched_assignments(batch).count()


def result_columns(batch: Batch) -> ResultColumns:
    """Return the columns of a batch's inputs and answers."""
    inputs: dict[str, None] = {}
    answers: dict[str, None] = {}
    rows = _matched_assignments(batch).values_list("hit__unit__payload", "submission__answer")
    for payload, answer in rows.order_by("submitted_at", "id").iterator(chunk_size=CHUNK_SIZE):
        inputs |= dict.fromkeys(_inputs_by_column(batch, payload))
        answers |= dict.fromkeys(_answers_by_column(batch, answer))
    return ResultColumns(tuple(inputs), tuple(answers))


def assignments_by_id(batch: Batch) -> dict[str, Assignment]:
    """Return the batch's confirmed assignments by the marketplace's id, with their decisions loaded."""
    rows = _matched_assignments(batch).select_related("hit__unit__batch__project", "worker", "submission")
    return {row.assignment_id: row for row in rows.prefetch_related("decisions")}


def _matched_assignments(batch: Batch) -> "QuerySet[Assignment]":
    return Assignment.objects.filter(hit__unit__batch=batch, match=SubmissionMatch.MATCHED)


def _latest_decisions(assignments: Iterable[int]) -> dict[int, Decision]:
    """Return the latest decision of each assignment that has one."""
    rows = Decision.objects.filter(assignment__in=list(assignments)).order_by("pk")
    return {row.assignment_id: row for row in rows.only("assignment_id", "verdict", "decided_at", "feedback")}


def _approval_rates(batch: Batch) -> Rates:
    """Return each worker's approval rates in this project only, as other projects are not visible here."""
    now = timezone.now()
    decided = Q(status__in=[AssignmentStatus.APPROVED, AssignmentStatus.REJECTED])
    approved = Q(status=AssignmentStatus.APPROVED)
    periods = [Q(), *(Q(submitted_at__gte=now - timedelta(days=days)) for days in (30, 7))]
    counts = {}
    for number, period in enumerate(periods):
        counts[f"approved_{number}"] = Count("pk", filter=approved & period)
        counts[f"decided_{number}"] = Count("pk", filter=decided & period)
    rows = Assignment.objects.filter(
        hit__unit__batch__project=batch.project_id, match=SubmissionMatch.MATCHED
    )
    names = [f"{word}_{number}" for number in range(len(periods)) for word in ("approved", "decided")]
    found = rows.order_by().values("worker").annotate(**counts).values_list("worker", *names)
    return {
        worker: [format_rate(*pair) for pair in zip(counts[::2], counts[1::2], strict=True)]
        for worker, *counts in found
    }


def _result_row(
    batch: Batch,
    listing: TaskListing,
    columns: ResultColumns,
    row: Any,
    decision: Decision | None,
    rates: Sequence[str],
) -> list[str]:
    inputs = _inputs_by_column(batch, row.hit__unit__payload)
    answers = _answers_by_column(batch, row.submission__answer)
    return [
        row.hit__hit_id or "",
        batch.hit_type_id,
        listing.title,
        listing.description,
        listing.keywords,
        format_dollars(batch.reward_cents),
        format_time(row.hit__attempt_at),
        str(row.hit__max_assignments),
        row.hit__annotation,
        str(batch.duration_seconds),
        str(batch.auto_approval_seconds),
        format_time(row.hit__expires_at),
        "",
        str(batch.lifetime_seconds),
        *_assignment_cells(row, decision),
        *rates,
        *[inputs.get(name, "") for name in columns.inputs],
        *[answers.get(name, "") for name in columns.answers],
        *_NOT_DECIDED,
    ]


def _assignment_cells(row: Any, decision: Decision | None) -> list[str]:
    approved = row.status == AssignmentStatus.APPROVED
    rejected = row.status == AssignmentStatus.REJECTED
    auto_approved_at = row.auto_approves_at if approved and decision is None else None
    return [
        row.assignment_id,
        row.worker__worker_id,
        row.status,
        format_time(row.accepted_at),
        format_time(row.submitted_at),
        format_time(row.auto_approves_at),
        format_time(_decided_at(decision, ReviewVerdict.APPROVE) or auto_approved_at) if approved else "",
        format_time(_decided_at(decision, ReviewVerdict.REJECT)) if rejected else "",
        decision.feedback if decision else "",
        _work_seconds(row.accepted_at, row.submitted_at),
    ]


def _decided_at(decision: Decision | None, verdict: ReviewVerdict) -> datetime | None:
    return decision.decided_at if decision is not None and decision.verdict == verdict else None


def _work_seconds(accepted: datetime | None, submitted: datetime) -> str:
    return str(round((submitted - accepted).total_seconds())) if accepted else ""


def _inputs_by_column(batch: Batch, payload: Mapping[str, Any]) -> dict[str, str]:
    return dict(payload["values"]) if batch.kind == KIND else flatten(payload)


def _answers_by_column(batch: Batch, answer: Mapping[str, Any]) -> dict[str, str]:
    return join_values_by_name(answer["fields"]) if batch.kind == KIND else flatten(answer)
