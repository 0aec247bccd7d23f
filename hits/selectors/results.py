"""A batch's results as Mechanical Turk's requester site writes them: two passes over the rows, however many."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Prefetch, Q, QuerySet
from django.utils import timezone

from hits.domain.answer_xml import joined
from hits.domain.money import format_dollars
from hits.domain.results import (
    ANSWER,
    ASSIGNMENT_COLUMNS,
    DECISION_COLUMNS,
    HIT_COLUMNS,
    INPUT,
    flat,
    moment,
    rate,
)
from hits.domain.states import AssignmentStatus, Match, Verdict
from hits.models import Assignment, Batch, Decision
from hits.selectors.listing import Listing, listing_of
from hits.selectors.templates import KIND

AT_ONCE = 500
Rates = Mapping[int, Sequence[str]]  # of a worker: over all time, 30 days, 7 days


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a batch's own inputs and answers make, in the order in which they first come."""

    inputs: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Return the whole heading."""
        return [
            *HIT_COLUMNS,
            *ASSIGNMENT_COLUMNS,
            *(INPUT + name for name in self.inputs),
            *(ANSWER + name for name in self.answers),
            *DECISION_COLUMNS,
        ]


def results_of(batch: Batch) -> Iterator[list[str]]:
    """Yield the heading and a row for each confirmed assignment, oldest first. Nothing unconfirmed is handed out."""
    columns = columns_of(batch)
    yield columns.names
    listing, rates = listing_of(batch), _rates(batch)
    for row in _confirmed(batch).iterator(chunk_size=AT_ONCE):
        yield _row(batch, listing, columns, row, rates.get(row.worker_id, ("", "", "")))


def count_of(batch: Batch) -> int:
    """Return how many rows the results have."""
    return _matched(batch).count()


def columns_of(batch: Batch) -> Columns:
    """Return the columns of a batch's inputs and answers."""
    inputs: dict[str, None] = {}
    answers: dict[str, None] = {}
    rows = _matched(batch).values_list("hit__unit__payload", "submission__answer")
    for payload, answer in rows.order_by("submitted_at", "id").iterator(chunk_size=AT_ONCE):
        inputs |= dict.fromkeys(_inputs(batch, payload))
        answers |= dict.fromkeys(_answers(batch, answer))
    return Columns(tuple(inputs), tuple(answers))


def assignments_by_id(batch: Batch) -> dict[str, Assignment]:
    """Return the batch's confirmed assignments by the marketplace's id, with their decisions at hand."""
    rows = _matched(batch).select_related("hit__unit__batch__project", "worker", "submission")
    return {row.assignment_id: row for row in rows.prefetch_related("decisions")}


def _matched(batch: Batch) -> "QuerySet[Assignment]":
    return Assignment.objects.filter(hit__unit__batch=batch, match=Match.MATCHED)


def _confirmed(batch: Batch) -> "QuerySet[Assignment]":
    decisions = Prefetch("decisions", queryset=Decision.objects.order_by("pk"))
    return (
        _matched(batch)
        .select_related("hit__unit", "worker", "submission")
        .prefetch_related(decisions)
        .order_by("submitted_at", "id")
    )


def _rates(batch: Batch) -> Rates:
    """Return each worker's approval rates in the project: nobody is shown what others asked for."""
    now = timezone.now()
    decided = Q(status__in=[AssignmentStatus.APPROVED, AssignmentStatus.REJECTED])
    good = Q(status=AssignmentStatus.APPROVED)
    spans = [Q(), *(Q(submitted_at__gte=now - timedelta(days=days)) for days in (30, 7))]
    counts = {}
    for number, span in enumerate(spans):
        counts[f"approved_{number}"] = Count("pk", filter=good & span)
        counts[f"decided_{number}"] = Count("pk", filter=decided & span)
    rows = Assignment.objects.filter(hit__unit__batch__project=batch.project_id, match=Match.MATCHED)
    names = [f"{word}_{number}" for number in range(len(spans)) for word in ("approved", "decided")]
    found = rows.order_by().values("worker").annotate(**counts).values_list("worker", *names)
    return {worker: [rate(*pair) for pair in zip(of[::2], of[1::2], strict=True)] for worker, *of in found}


def _row(
    batch: Batch, listing: Listing, columns: Columns, row: Assignment, rates: Sequence[str]
) -> list[str]:
    assert row.submission is not None
    inputs = _inputs(batch, row.hit.unit.payload)
    answers = _answers(batch, row.submission.answer)
    return [
        *_hit_cells(batch, listing, row),
        *_assignment_cells(row),
        *rates,
        *(inputs.get(name, "") for name in columns.inputs),
        *(answers.get(name, "") for name in columns.answers),
        *("" for _ in DECISION_COLUMNS),
    ]


def _hit_cells(batch: Batch, listing: Listing, row: Assignment) -> list[str]:
    hit = row.hit
    return [
        hit.hit_id or "",
        batch.hit_type_id,
        listing.title,
        listing.description,
        listing.keywords,
        format_dollars(batch.reward_cents),
        moment(hit.attempt_at),
        str(hit.max_assignments),
        hit.annotation,
        str(batch.duration_seconds),
        str(batch.auto_approval_seconds),
        moment(hit.expires_at),
        "",
        str(batch.lifetime_seconds),
    ]


def _assignment_cells(row: Assignment) -> list[str]:
    approved = row.status == AssignmentStatus.APPROVED
    rejected = row.status == AssignmentStatus.REJECTED
    last = row.latest_decision
    by_clock = row.auto_approves_at if approved and last is None else None
    return [
        row.assignment_id,
        row.worker.worker_id,
        row.status,
        moment(row.accepted_at),
        moment(row.submitted_at),
        moment(row.auto_approves_at),
        moment(_decided_at(last, Verdict.APPROVE) or by_clock) if approved else "",
        moment(_decided_at(last, Verdict.REJECT)) if rejected else "",
        last.feedback if last else "",
        _seconds(row.accepted_at, row.submitted_at),
    ]


def _decided_at(decision: Decision | None, verdict: Verdict) -> datetime | None:
    return decision.decided_at if decision is not None and decision.verdict == verdict else None


def _seconds(accepted: datetime | None, submitted: datetime) -> str:
    return str(round((submitted - accepted).total_seconds())) if accepted else ""


def _inputs(batch: Batch, payload: Mapping[str, Any]) -> dict[str, str]:
    return dict(payload["values"]) if batch.kind == KIND else flat(payload)


def _answers(batch: Batch, answer: Mapping[str, Any]) -> dict[str, str]:
    return joined(answer["fields"]) if batch.kind == KIND else flat(answer)
