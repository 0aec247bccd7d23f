"""Read each worker's digest of 48 hours.

Digests are computed when somebody looks, by no periodic task: so they never are out of date, a photo that was taken
down is in none of them, and nothing is sent that nobody has read.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from django.db.models import Count

from hits import registry
from hits.domain.answers.evidence import EvidenceRow
from hits.domain.hashing import request_token
from hits.domain.money.pay import median_cents
from hits.models import Assignment, OutgoingCall, Project, Record, Worker
from hits.selectors.hints import count_hints
from hits.selectors.money import pay
from validation.domain.qualification.work_digest import (
    DigestFigures,
    compose_digest,
    draw_sample,
    window_bounds,
)
from validation.selectors.ratings import counted_assignment_filter
from validation.selectors.work_reviews import (
    ReviewedWorker,
    reviewed_kinds,
    reviewed_workers,
    submission_spec,
)

DIGEST_KEY = "digest"  # of a planned message: it is about one worker and window


@dataclass(frozen=True, slots=True)
class SampledSubmission:
    """A submission in a digest's sample, as a table of rows."""

    assignment: Assignment
    rows: Sequence[EvidenceRow]


@dataclass(frozen=True, slots=True)
class WorkerDigest:
    """One worker's digest; ``text`` is ready to be sent, ``is_sent`` says whether a message is planned already."""

    worker: Worker
    figures: DigestFigures
    sample: Sequence[SampledSubmission]
    text: str
    is_sent: bool


def digest_key(project: Project, worker: Worker, window: int) -> tuple[object, ...]:
    """Return the key of a digest's message: one for a worker and a window."""
    return (DIGEST_KEY, project.pk, worker.worker_id, window)


def digest_assignments(project: Project, window: int, worker: Worker | None = None) -> list[Assignment]:
    """Return the confirmed, not rejected assignments of a window with their submissions, oldest first."""
    start, end = window_bounds(window)
    rows = Assignment.objects.filter(
        counted_assignment_filter(),
        hit__unit__batch__project=project,
        hit__unit__batch__kind__in=reviewed_kinds(),
        submitted_at__gte=start,
        submitted_at__lt=end,
    )
    if worker is not None:
        rows = rows.filter(worker=worker)
    return list(rows.select_related("worker", "submission", "hit__unit__batch__project").order_by("pk"))


def list_digests(project: Project, window: int) -> list[WorkerDigest]:
    """Return the digests of a window, most submissions first; a fixed number of queries."""
    by_worker: dict[Worker, list[Assignment]] = defaultdict(list)
    for row in digest_assignments(project, window):
        by_worker[row.worker].append(row)
    bounds = window_bounds(window)
    workers = [worker.pk for worker in by_worker]
    rates = _rates_by_worker(project, workers, bounds)
    records = _records_by_worker([row for rows in by_worker.values() for row in rows])
    reviews = {row.worker.pk: row for row in reviewed_workers(project, workers=workers, within=bounds)}
    sent = _sent_tokens(project, list(by_worker), window)
    one, many = (label.lower() for label in submission_spec().part_labels)
    digests = []
    for worker, rows in by_worker.items():
        figures = _figures(rows, records.get(worker.pk, 0), rates.get(worker.pk, []), reviews.get(worker.pk))
        digests.append(
            WorkerDigest(
                worker=worker,
                figures=figures,
                sample=_sample(rows, window),
                text=compose_digest(figures, *bounds, (one, many)),
                is_sent=_digest_token(project, worker, window) in sent,
            )
        )
    return sorted(digests, key=lambda row: (-row.figures.submissions, row.worker.pk))


def _figures(
    rows: Sequence[Assignment], records: int, rates: Sequence[int], reviewed: ReviewedWorker | None
) -> DigestFigures:
    hints = [count_hints(row.submission) for row in rows if row.submission is not None]
    seconds = [row.submission.active_seconds for row in rows if row.submission is not None]
    return DigestFigures(
        submissions=len(rows),
        records=records,
        median_seconds=median(seconds) if seconds else None,
        median_cents=median_cents(list(rates)),
        hints_shown=sum(count.shown for count in hints),
        hints_ignored=sum(count.ignored for count in hints),
        reviewed=len(reviewed.parts) if reviewed else 0,
        reviewed_right=reviewed.counted if reviewed else 0,
        advice=tuple(dict.fromkeys(reviewed.texts)) if reviewed else (),
    )


def _rates_by_worker(
    project: Project, workers: Sequence[int], bounds: tuple[datetime, datetime]
) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    kinds = reviewed_kinds()
    batches = set(project.batches.filter(kind__in=kinds).values_list("pk", flat=True))
    for work in pay.measured_work(project, workers=workers) if workers else []:
        if bounds[0] <= work.at < bounds[1] and work.batch in batches and work.rate_cents is not None:
            found[work.worker].append(work.rate_cents)
    return found


def _records_by_worker(assignments: Sequence[Assignment]) -> dict[int, int]:
    ids = [row.submission_id for row in assignments]
    rows = Record.objects.filter(submission__in=ids, type=submission_spec().record_type)
    return dict(rows.order_by().values_list("submission__assignment__worker").annotate(n=Count("pk")))


def _sample(rows: Sequence[Assignment], window: int) -> list[SampledSubmission]:
    by_id = {row.assignment_id: row for row in rows}
    return [_sampled(by_id[key]) for key in draw_sample(window, list(by_id))]


def _sampled(row: Assignment) -> SampledSubmission:
    unit: Any = row.hit.unit
    assert row.submission is not None
    kind = registry.get_kind(unit.batch.kind)
    return SampledSubmission(row, kind.answer_rows(unit.payload, row.submission.answer))


def _digest_token(project: Project, worker: Worker, window: int) -> str:
    return request_token(worker.environment, *digest_key(project, worker, window))


def _sent_tokens(project: Project, workers: Sequence[Worker], window: int) -> set[str]:
    tokens = [_digest_token(project, worker, window) for worker in workers]
    return set(OutgoingCall.objects.filter(token__in=tokens).values_list("token", flat=True))
