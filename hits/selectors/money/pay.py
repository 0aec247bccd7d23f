"""Measured pay: what confirmed work earned per active time.

The task's page counts active time and stops after 30 seconds without activity. All work that was not rejected counts,
decided or not, with its reward, promised bonuses and paid top-ups.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from hits import registry
from hits.charts.chart import Chart
from hits.charts.pay import PayPoint, pay_chart, pay_histogram
from hits.domain.money.pay import RateSpread, cents_per_hour, mean_cents, median_cents, rate_spread
from hits.domain.states import AssignmentStatus, CallState, Purpose, SubmissionMatch
from hits.models import Assignment, Batch, Decision, OutgoingCall, Project, Worker
from hits.selectors.money.bonus_items import bonus_items_by_assignment

MAX_DAYS = 45  # a chart over a longer time has a point for each week
MAX_POINTS = 300  # of a line, which is about 600 pixels wide


class MeasuredWork(NamedTuple):
    """One confirmed submission that was not rejected: time, worker, batch, cents and active seconds."""

    at: datetime
    worker: int
    batch: int
    cents: int
    active_seconds: float

    @property
    def rate_cents(self) -> int | None:
        """Cents per hour of active time."""
        return cents_per_hour(self.cents, self.active_seconds)


def measured_work(
    scope: Batch | Project,
    *,
    workers: Collection[int] | None = None,
    promised_cents: Mapping[int, int] | None = None,
) -> list[MeasuredWork]:
    """Return the measured work of a batch or project, oldest first; six queries.

    ``workers`` restricts it to some workers. ``promised_cents`` is an earlier result of
    ``promised_bonus_cents_by_assignment``. Simulated submissions count like others, with the times that the script
    reported.
    """
    rows = measured_assignments(scope, workers).order_by("submitted_at", "id")
    batches = {batch.pk: batch for batch in _scope_batches(scope)}
    bonus_cents = bonus_and_top_up_cents_by_assignment(scope, batches, workers, promised_cents=promised_cents)
    values = rows.values_list(
        "pk", "submitted_at", "worker_id", "hit__unit__batch_id", "submission__active_seconds"
    )
    return [
        MeasuredWork(at, worker, batch, batches[batch].reward_cents + bonus_cents[pk], seconds)
        for pk, at, worker, batch, seconds in values.iterator(chunk_size=5_000)
    ]


def measured_assignments(
    scope: Batch | Project, workers: Collection[int] | None = None
) -> "QuerySet[Assignment]":
    """Return the assignments whose pay is measured: confirmed, with active time, not rejected.

    Compensations are left out: the active time of their page is not the time of the work.
    """
    rows = Assignment.objects.filter(
        _scope_filter("hit__unit__batch", scope),
        match=SubmissionMatch.MATCHED,
        submission__active_seconds__gt=0,
    )
    rows = rows.exclude(status=AssignmentStatus.REJECTED).exclude(
        hit__unit__batch__kind__in=registry.kinds_with_purpose(Purpose.COMPENSATING)
    )
    return rows if workers is None else rows.filter(worker__in=workers)


def bonus_and_top_up_cents_by_assignment(
    scope: Batch | Project,
    batches: Mapping[int, Batch],
    workers: Collection[int] | None = None,
    *,
    top_up_states: Collection[CallState] = (CallState.DONE,),
    promised_cents: Mapping[int, int] | None = None,
) -> Counter[int]:
    """Return each assignment's earnings beyond its reward, in cents; four queries.

    After the decision they come from the planned calls, before it from the answer, as the task's page promised.
    ``top_up_states``: the call states in which a top-up counts.
    """
    is_counted = Q(decision__isnull=False) | Q(
        top_up__isnull=False, state__in=[s.value for s in top_up_states]
    )
    calls = OutgoingCall.objects.filter(
        is_counted, _scope_filter("batch", scope), operation=OutgoingCall.Operation.BONUS
    )
    if workers is not None:
        calls = calls.filter(assignment__worker__in=workers)
    sums = calls.order_by().values_list("assignment").annotate(Sum("amount_cents"))
    extras: Counter[int] = Counter(dict(sums))
    extras.update(
        promised_bonus_cents_by_assignment(scope, batches, workers)
        if promised_cents is None
        else promised_cents
    )
    return extras


def promised_bonus_cents_by_assignment(
    scope: Batch | Project, batches: Mapping[int, Batch], workers: Collection[int] | None = None
) -> dict[int, int]:
    """Return each undecided assignment's promised bonus in cents; two queries."""
    paying = [pk for pk, batch in batches.items() if batch.bonus_cents]
    if not paying:
        return {}
    decided = Exists(Decision.objects.filter(assignment=OuterRef("pk")))
    undecided = measured_assignments(scope, workers).filter(~decided, hit__unit__batch__in=paying).order_by()
    items = bonus_items_by_assignment(undecided)
    if isinstance(scope, Batch):
        return {pk: scope.bonus_cents * number for pk, number in items.items() if number}
    rows = undecided.values_list("pk", "hit__unit__batch_id").iterator(chunk_size=5_000)
    return {pk: batches[batch].bonus_cents * items[pk] for pk, batch in rows if items[pk]}


def paid_top_up_cents_by_assignment(assignments: Collection[int]) -> Counter[int]:
    """Return each assignment's paid top-ups in cents; one query."""
    calls = OutgoingCall.objects.filter(
        assignment__in=assignments,
        operation=OutgoingCall.Operation.BONUS,
        top_up__isnull=False,
        state=CallState.DONE,
    )
    return Counter(dict(calls.order_by().values_list("assignment").annotate(Sum("amount_cents"))))


def _scope_filter(field: str, scope: Batch | Project) -> Q:
    return Q(**{field if isinstance(scope, Batch) else f"{field}__project": scope})


def _scope_batches(scope: Batch | Project) -> Iterable[Batch]:
    return [scope] if isinstance(scope, Batch) else Batch.objects.filter(project=scope)


def hourly_rates(work: Iterable[MeasuredWork]) -> list[int]:
    """Return the hourly rates, in cents, of work with active time."""
    return [row.rate_cents for row in work if row.rate_cents is not None]


def hourly_rate_spread(work: Iterable[MeasuredWork], target: int) -> RateSpread | None:
    """Return the distribution of the hourly rates, or ``None`` without work."""
    return rate_spread([(row.cents, row.active_seconds) for row in work], target)


def median_rate_by_worker(
    project: Project, *, workers: Collection[int] | None = None
) -> dict[int, int | None]:
    """Return each worker's median cents per hour in a project; ``workers`` restricts it to some workers."""
    batches = {batch.pk: batch for batch in _scope_batches(project)}
    bonus_cents = bonus_and_top_up_cents_by_assignment(project, batches, workers)
    rows = measured_assignments(project, workers).order_by()
    values = rows.values_list("pk", "worker_id", "hit__unit__batch_id", "submission__active_seconds")
    by_worker: dict[int, list[int]] = defaultdict(list)
    # A median needs no order and no submission time, which takes longest to read.
    for pk, worker, batch, seconds in values.iterator(chunk_size=5_000):
        rate = cents_per_hour(batches[batch].reward_cents + bonus_cents[pk], seconds)
        if rate is not None:
            by_worker[worker].append(rate)
    return {worker: median_cents(rates) for worker, rates in by_worker.items()}


def worker_count_and_most_active_share(work: Iterable[MeasuredWork]) -> tuple[int, float]:
    """Return the number of workers and the share of the most active one (0 to 1)."""
    counts = Counter(row.worker for row in work)
    return len(counts), (max(counts.values()) / counts.total() if counts else 0.0)


def chart_by_day_or_week(work: Sequence[MeasuredWork], target: int) -> Chart | None:
    """Return a chart of median and mean by day, or by week beyond ``MAX_DAYS``; ``None`` for fewer than two."""
    days = [row.at.date() for row in work]
    weekly = bool(days) and max(days) - min(days) > timedelta(days=MAX_DAYS)
    found: dict[date, list[int]] = defaultdict(list)
    for day, row in zip(days, work, strict=True):
        if row.rate_cents is not None:
            found[day - timedelta(days=day.weekday()) if weekly else day].append(row.rate_cents)
    points = [
        PayPoint(f"{day.day} {day:%b}", median_cents(group) or 0, mean_cents(group))
        for day, group in sorted(found.items())
    ]
    return pay_chart(points, target=target, x_unit="week" if weekly else "day")


def chart_by_submission_or_group(work: Iterable[MeasuredWork], target: int) -> Chart | None:
    """Return a chart of the single rates, or of medians of consecutive groups if there are over ``MAX_POINTS``.

    ``None`` for fewer than two rates.
    """
    found = hourly_rates(work)
    size = -(-len(found) // MAX_POINTS)
    if size <= 1:
        points = [PayPoint(str(number), rate) for number, rate in enumerate(found, start=1)]
        return pay_chart(points, target=target, x_unit="submission")
    groups = [found[first : first + size] for first in range(0, len(found), size)]
    points = [PayPoint(f"{1 + at * size:,}", median_cents(group) or 0) for at, group in enumerate(groups)]
    return pay_chart(points, target=target, x_unit=f"{size} submissions in a row")


@dataclass(frozen=True, slots=True)
class PayRow:
    """The pay of one group: a batch, a kind or a worker. ``key`` is its primary key or the kind's name."""

    key: Any
    label: str
    spread: RateSpread


@dataclass(frozen=True, slots=True)
class ProjectPay:
    """A project's pay, lowest median first, so that groups under the target come first."""

    total: RateSpread | None
    by_batch: Sequence[PayRow]
    by_kind: Sequence[PayRow]
    by_worker: Sequence[PayRow]
    kinds: Sequence[tuple[str, str]]
    chart: Chart | None
    histogram: Chart | None


def project_pay(project: Project, kind: str = "") -> ProjectPay:
    """Return the pay of a project, or of its work of one kind; seven queries."""
    target = project.target_cents_per_hour
    batches = {batch.pk: batch for batch in Batch.objects.filter(project=project)}
    all_work = measured_work(project)
    present_kinds = {batches[pk].kind for pk in {row.batch for row in all_work}}
    work = [row for row in all_work if not kind or batches[row.batch].kind == kind]

    def group_rows(key: Any, group_label: Any) -> list[PayRow]:
        groups: dict[Hashable, list[MeasuredWork]] = defaultdict(list)
        for row in work:
            groups[key(row)].append(row)
        found = [
            PayRow(k, group_label(k), s)
            for k, group in groups.items()
            if (s := hourly_rate_spread(group, target))
        ]
        return sorted(found, key=lambda row: (row.spread.median, str(row.label)))

    return ProjectPay(
        total=hourly_rate_spread(work, target),
        by_batch=group_rows(lambda row: row.batch, lambda pk: batches[pk].name),
        by_kind=group_rows(lambda row: batches[row.batch].kind, kind_title_or_name),
        by_worker=group_rows(lambda row: row.worker, lambda pk: str(Worker(pk=pk))),
        kinds=sorted(((name, kind_title_or_name(name)) for name in present_kinds), key=lambda pair: pair[1]),
        chart=chart_by_day_or_week(work, target),
        histogram=pay_histogram(hourly_rates(work), target=target),
    )


def kind_title_or_name(name: str) -> str:
    """Return a kind's title, or its name if the kind is not installed."""
    try:
        return registry.get_kind(name).title
    except LookupError:
        return name


@dataclass(frozen=True, slots=True)
class WorkerSummary:
    """Counts of a worker's submissions in one project, and their median pay."""

    worker: Worker
    approved: int
    rejected: int
    waiting: int
    median_cents: int | None

    @property
    def decided(self) -> int:
        """Approved and rejected together."""
        return self.approved + self.rejected
