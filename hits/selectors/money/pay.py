"""Measured pay: what confirmed work earned for the active time that it took.

Active time is counted by the task's page, which stops counting after 30 seconds without a sign of life. What is not
rejected counts, whether it is decided yet or not: reward, bonuses promised, and top-ups once they are paid.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from hits import registry
from hits.domain.chart import Chart, Histogram, Point, pay_chart, pay_histogram
from hits.domain.money.pay import Spread, cents_per_hour, mean_cents, median_cents, spread
from hits.domain.states import AssignmentStatus, CallState, Match, Purpose
from hits.models import Assignment, Batch, Decision, OutgoingCall, Project, Worker
from hits.selectors.money.bonus_items import bonus_items

MOST_DAYS = 45  # a longer time is drawn by week
MOST_POINTS = 300  # of a line, which is 600 wide


class Work(NamedTuple):
    """One confirmed submission that is not rejected: when, by whom, in which batch, cents and active seconds."""

    at: datetime
    worker: int
    batch: int
    cents: int
    active_seconds: float

    @property
    def rate_cents(self) -> int | None:
        """Cents per hour of active time."""
        return cents_per_hour(self.cents, self.active_seconds)


def work_of(
    scope: Batch | Project,
    *,
    workers: Collection[int] | None = None,
    promised: Mapping[int, int] | None = None,
) -> list[Work]:
    """Return the measured work of a batch or project, oldest first; six queries. ``workers`` narrows it to some.
    ``promised`` is what ``promised_bonuses`` returned, where somebody asked already.

    Simulated submissions count in a rehearsal as any other: their times are what the script reported.
    """
    rows = counted(scope, workers).order_by("submitted_at", "id")
    batches = {batch.pk: batch for batch in _batches(scope)}
    extras = bonuses_of(scope, batches, workers, promised=promised)
    lines = rows.values_list(
        "pk", "submitted_at", "worker_id", "hit__unit__batch_id", "submission__active_seconds"
    )
    return [
        Work(at, worker, batch, batches[batch].reward_cents + extras[pk], seconds)
        for pk, at, worker, batch, seconds in lines.iterator(chunk_size=5_000)
    ]


def counted(scope: Batch | Project, workers: Collection[int] | None = None) -> "QuerySet[Assignment]":
    """Return the assignments whose pay is measured: confirmed, timed, and not rejected.

    What pays for lost work is left out: the time that its own page took is not the time that was worked.
    """
    rows = Assignment.objects.filter(
        _within("hit__unit__batch", scope), match=Match.MATCHED, submission__active_seconds__gt=0
    )
    rows = rows.exclude(status=AssignmentStatus.REJECTED).exclude(
        hit__unit__batch__kind__in=registry.with_purpose(Purpose.COMPENSATING)
    )
    return rows if workers is None else rows.filter(worker__in=workers)


def bonuses_of(
    scope: Batch | Project,
    batches: Mapping[int, Batch],
    workers: Collection[int] | None = None,
    *,
    top_ups: Collection[CallState] = (CallState.DONE,),
    promised: Mapping[int, int] | None = None,
) -> Counter[int]:
    """Return by assignment what it earns beyond its reward, in cents; four queries.

    Once it is decided, the planned calls say so; before that, its answer does, as the task's page promised.
    ``top_ups`` are the states in which a top-up counts.
    """
    counting = Q(decision__isnull=False) | Q(top_up__isnull=False, state__in=[s.value for s in top_ups])
    calls = OutgoingCall.objects.filter(
        counting, _within("batch", scope), operation=OutgoingCall.Operation.BONUS
    )
    if workers is not None:
        calls = calls.filter(assignment__worker__in=workers)
    sums = calls.order_by().values_list("assignment").annotate(Sum("amount_cents"))
    extras: Counter[int] = Counter(dict(sums))
    extras.update(promised_bonuses(scope, batches, workers) if promised is None else promised)
    return extras


def promised_bonuses(
    scope: Batch | Project, batches: Mapping[int, Batch], workers: Collection[int] | None = None
) -> dict[int, int]:
    """Return by undecided assignment what its answer earns beyond the reward, in cents; two queries."""
    paying = [pk for pk, batch in batches.items() if batch.bonus_cents]
    if not paying:
        return {}
    decided = Exists(Decision.objects.filter(assignment=OuterRef("pk")))
    undecided = counted(scope, workers).filter(~decided, hit__unit__batch__in=paying).order_by()
    items = bonus_items(undecided)
    if isinstance(scope, Batch):
        return {pk: scope.bonus_cents * number for pk, number in items.items() if number}
    rows = undecided.values_list("pk", "hit__unit__batch_id").iterator(chunk_size=5_000)
    return {pk: batches[batch].bonus_cents * items[pk] for pk, batch in rows if items[pk]}


def paid_top_ups(assignments: Collection[int]) -> Counter[int]:
    """Return by assignment what was paid on top of it to reach the target, in cents; one query."""
    calls = OutgoingCall.objects.filter(
        assignment__in=assignments,
        operation=OutgoingCall.Operation.BONUS,
        top_up__isnull=False,
        state=CallState.DONE,
    )
    return Counter(dict(calls.order_by().values_list("assignment").annotate(Sum("amount_cents"))))


def _within(field: str, scope: Batch | Project) -> Q:
    return Q(**{field if isinstance(scope, Batch) else f"{field}__project": scope})


def _batches(scope: Batch | Project) -> Iterable[Batch]:
    return [scope] if isinstance(scope, Batch) else Batch.objects.filter(project=scope)


def rates(work: Iterable[Work]) -> list[int]:
    """Return the hourly rates in cents of what has a time."""
    return [row.rate_cents for row in work if row.rate_cents is not None]


def spread_of(work: Iterable[Work], target: int) -> Spread | None:
    """Return how the rates of some work are spread, or ``None`` of nothing."""
    return spread([(row.cents, row.active_seconds) for row in work], target)


def median_by_worker(project: Project, *, workers: Collection[int] | None = None) -> dict[int, int | None]:
    """Return each worker's median cents per hour in a project; ``workers`` narrows it to some."""
    batches = {batch.pk: batch for batch in _batches(project)}
    extras = bonuses_of(project, batches, workers)
    rows = counted(project, workers).order_by()
    lines = rows.values_list("pk", "worker_id", "hit__unit__batch_id", "submission__active_seconds")
    by_worker: dict[int, list[int]] = defaultdict(list)
    # Neither in order nor with their times, which take longest to read, since a median needs neither.
    for pk, worker, batch, seconds in lines.iterator(chunk_size=5_000):
        rate = cents_per_hour(batches[batch].reward_cents + extras[pk], seconds)
        if rate is not None:
            by_worker[worker].append(rate)
    return {worker: median_cents(found) for worker, found in by_worker.items()}


def busiest_share(work: Iterable[Work]) -> tuple[int, float]:
    """Return how many workers took part, and the share of the busiest one (0 to 1)."""
    counts = Counter(row.worker for row in work)
    return len(counts), (max(counts.values()) / counts.total() if counts else 0.0)


def chart_by_day(work: Sequence[Work], target: int) -> Chart | None:
    """Return median and mean by day, by week beyond six weeks; ``None`` below two of them."""
    days = [row.at.date() for row in work]
    weekly = bool(days) and max(days) - min(days) > timedelta(days=MOST_DAYS)
    found: dict[date, list[int]] = defaultdict(list)
    for day, row in zip(days, work, strict=True):
        if row.rate_cents is not None:
            found[day - timedelta(days=day.weekday()) if weekly else day].append(row.rate_cents)
    points = [
        Point(f"{day.day} {day:%b}", median_cents(group) or 0, mean_cents(group))
        for day, group in sorted(found.items())
    ]
    return pay_chart(points, target=target, by="week" if weekly else "day")


def chart_by_submission(work: Iterable[Work], target: int) -> Chart | None:
    """Return the rates one by one, or the medians of so many in a row where one could not tell them apart.

    ``None`` below two.
    """
    found = rates(work)
    size = -(-len(found) // MOST_POINTS)
    if size <= 1:
        points = [Point(str(number), rate) for number, rate in enumerate(found, start=1)]
        return pay_chart(points, target=target, by="submission")
    groups = [found[first : first + size] for first in range(0, len(found), size)]
    points = [Point(f"{1 + at * size:,}", median_cents(group) or 0) for at, group in enumerate(groups)]
    return pay_chart(points, target=target, by=f"{size} submissions in a row")


@dataclass(frozen=True, slots=True)
class Line:
    """The pay of one group: a batch, a kind or a worker. ``key`` is its row, or the kind's name."""

    key: Any
    words: str
    spread: Spread


@dataclass(frozen=True, slots=True)
class ProjectPay:
    """A project's pay, lowest median first, so that what is under the target leads."""

    total: Spread | None
    by_batch: Sequence[Line]
    by_kind: Sequence[Line]
    by_worker: Sequence[Line]
    kinds: Sequence[tuple[str, str]]
    chart: Chart | None
    histogram: Histogram | None


def project_pay(project: Project, kind: str = "") -> ProjectPay:
    """Return the pay of a project, or of its work of one kind; seven queries, however much work there is."""
    target = project.target_cents_per_hour
    batches = {batch.pk: batch for batch in Batch.objects.filter(project=project)}
    everything = work_of(project)
    present = {batches[pk].kind for pk in {row.batch for row in everything}}
    work = [row for row in everything if not kind or batches[row.batch].kind == kind]

    def lines(key: Any, words: Any) -> list[Line]:
        groups: dict[Hashable, list[Work]] = defaultdict(list)
        for row in work:
            groups[key(row)].append(row)
        found = [Line(k, words(k), s) for k, group in groups.items() if (s := spread_of(group, target))]
        return sorted(found, key=lambda line: (line.spread.median, str(line.words)))

    return ProjectPay(
        total=spread_of(work, target),
        by_batch=lines(lambda row: row.batch, lambda pk: batches[pk].name),
        by_kind=lines(lambda row: batches[row.batch].kind, kind_title),
        by_worker=lines(lambda row: row.worker, lambda pk: str(Worker(pk=pk))),
        kinds=sorted(((name, kind_title(name)) for name in present), key=lambda pair: pair[1]),
        chart=chart_by_day(work, target),
        histogram=pay_histogram(rates(work), target=target),
    )


def kind_title(name: str) -> str:
    """Return a kind's title; its name when its folder is gone."""
    try:
        return registry.get(name).title
    except LookupError:
        return name


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
