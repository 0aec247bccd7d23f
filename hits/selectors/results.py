"""A batch's results as Mechanical Turk's requester site writes them: two passes over the rows, however many."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from hits.domain.money.usd import format_dollars
from hits.domain.mturk_formats.answer_xml import joined
from hits.domain.mturk_formats.results_csv import (
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


@dataclass(frozen=True, slots=True)
class _Terms:
    """What is the same in every row, between what is not."""

    before: tuple[str, ...]
    between: tuple[str, ...]
    lifetime: str


def results_of(batch: Batch) -> Iterator[list[str]]:
    """Yield the heading and a row for each confirmed assignment, oldest first. Nothing unconfirmed is handed out."""
    columns = columns_of(batch)
    yield columns.names
    terms, rates = _terms(batch, listing_of(batch)), _rates(batch)
    rows = _matched(batch).order_by("submitted_at", "id").values_list(*_FIELDS, named=True)
    stream = rows.iterator(chunk_size=AT_ONCE)
    while some := list(islice(stream, AT_ONCE)):
        decisions = _latest_decisions(row.pk for row in some)
        for row in some:
            yield _row(batch, terms, columns, row, decisions.get(row.pk), rates.get(row.worker_id, _NO_RATES))


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


def _latest_decisions(assignments: Iterable[int]) -> dict[int, Decision]:
    """Return the last decision of each assignment that has one."""
    rows = Decision.objects.filter(assignment__in=list(assignments)).order_by("pk")
    return {row.assignment_id: row for row in rows.only("assignment_id", "verdict", "decided_at", "feedback")}


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
    batch: Batch, terms: _Terms, columns: Columns, row: Any, last: Decision | None, rates: Sequence[str]
) -> list[str]:
    inputs = _inputs(batch, row.hit__unit__payload)
    answers = _answers(batch, row.submission__answer)
    return [
        row.hit__hit_id or "",
        *terms.before,
        moment(row.hit__attempt_at),
        str(row.hit__max_assignments),
        row.hit__annotation,
        *terms.between,
        moment(row.hit__expires_at),
        "",
        terms.lifetime,
        *_assignment_cells(row, last),
        *rates,
        *[inputs.get(name, "") for name in columns.inputs],
        *[answers.get(name, "") for name in columns.answers],
        *_NOT_DECIDED,
    ]


def _terms(batch: Batch, listing: Listing) -> _Terms:
    return _Terms(
        before=(
            batch.hit_type_id,
            listing.title,
            listing.description,
            listing.keywords,
            format_dollars(batch.reward_cents),
        ),
        between=(str(batch.duration_seconds), str(batch.auto_approval_seconds)),
        lifetime=str(batch.lifetime_seconds),
    )


def _assignment_cells(row: Any, last: Decision | None) -> list[str]:
    approved = row.status == AssignmentStatus.APPROVED
    rejected = row.status == AssignmentStatus.REJECTED
    by_clock = row.auto_approves_at if approved and last is None else None
    return [
        row.assignment_id,
        row.worker__worker_id,
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
