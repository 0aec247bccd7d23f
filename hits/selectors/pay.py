"""Measured pay: what confirmed work earned for the active time that it took."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from hits import registry
from hits.domain.pay import cents_per_hour, median_cents
from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment, Batch, Project, Worker


@dataclass(frozen=True, slots=True)
class Work:
    """One confirmed submission that is not rejected: when, by whom, cents and active seconds."""

    at: datetime
    worker: int
    cents: int
    active_seconds: float

    @property
    def rate_cents(self) -> int | None:
        """Cents per hour of active time."""
        return cents_per_hour(self.cents, self.active_seconds)


def work_of(scope: Batch | Project, *, workers: Collection[int] | None = None) -> list[Work]:
    """Return the measured work of a batch or project, oldest first; one query. ``workers`` narrows it to some.

    Simulated submissions count in a rehearsal as any other: their times are what the script reported.
    """
    field = "hit__unit__batch" if isinstance(scope, Batch) else "hit__unit__batch__project"
    rows = (
        Assignment.objects.filter(**{field: scope}, match=Match.MATCHED, submission__active_seconds__gt=0)
        .exclude(status=AssignmentStatus.REJECTED)
        .order_by("submitted_at", "id")
    )
    if workers is not None:
        rows = rows.filter(worker__in=workers)
    values = rows.values_list(
        "submitted_at",
        "worker_id",
        "hit__unit__batch__kind",
        "hit__unit__batch__reward_cents",
        "hit__unit__batch__bonus_cents",
        "submission__answer",
        "submission__active_seconds",
    )
    return [
        Work(
            at, worker, reward + bonus * registry.get(kind).bonus_items(answer) if bonus else reward, seconds
        )
        for at, worker, kind, reward, bonus, answer, seconds in values
    ]


def rates(work: Iterable[Work]) -> list[int]:
    """Return the hourly rates in cents of what has a time."""
    return [row.rate_cents for row in work if row.rate_cents is not None]


def median_by_worker(project: Project, *, workers: Collection[int] | None = None) -> dict[int, int | None]:
    """Return each worker's median cents per hour in a project; ``workers`` narrows it to some."""
    by_worker: dict[int, list[int]] = defaultdict(list)
    for row in work_of(project, workers=workers):
        if row.rate_cents is not None:
            by_worker[row.worker].append(row.rate_cents)
    return {worker: median_cents(found) for worker, found in by_worker.items()}


def busiest_share(work: Iterable[Work]) -> tuple[int, float]:
    """Return how many workers took part, and the share of the busiest one (0 to 1)."""
    counts: dict[int, int] = defaultdict(int)
    for row in work:
        counts[row.worker] += 1
    return len(counts), (max(counts.values()) / sum(counts.values()) if counts else 0.0)


@dataclass(frozen=True, slots=True)
class Record:
    """A worker's record in one project."""

    worker: Worker
    approved: int
    rejected: int
    waiting: int
    median_cents: int | None

    @property
    def decided(self) -> int:
        """Approved and rejected together."""
        return self.approved + self.rejected
