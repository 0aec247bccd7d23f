"""Proposed and past top-ups of a batch's work under the target."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet, Sum

from hits.domain.money.pay import HOUR_SECONDS, RateSpread, cents_per_hour, gap_cents, rate_spread
from hits.domain.states import OPEN_CALL_STATES, AssignmentStatus, CallState
from hits.models import Batch, TopUp, Worker
from hits.selectors.money.pay import bonus_and_top_up_cents_by_assignment, measured_assignments

# A refused call ends: the next proposal includes its amount. All other calls are paid or pending.
_PAID_OR_OPEN_STATES = (*OPEN_CALL_STATES, CallState.DONE)


@dataclass(frozen=True, slots=True)
class UnderpaidSubmission:
    """One approved submission under the target: its earnings and its shortfall. Cents and seconds."""

    assignment: int
    assignment_id: str
    worker: int
    active_seconds: float
    earned_cents: int
    shortfall_cents: int
    fee_cents: int

    @property
    def worker_name(self) -> str:
        """The worker's name on pages."""
        return str(Worker(pk=self.worker))

    @property
    def rate_cents(self) -> int | None:
        """Cents per hour before the top-up."""
        return cents_per_hour(self.earned_cents, self.active_seconds)


@dataclass(frozen=True, slots=True)
class WorkerTopUp:
    """The top-up of one worker for all their submissions under the target."""

    worker: int
    submission_count: int
    active_seconds: float
    earned_cents: int
    cents: int

    @property
    def worker_name(self) -> str:
        """The worker's name on pages."""
        return str(Worker(pk=self.worker))

    @property
    def rate_before_cents(self) -> int:
        """Cents per hour of this work before the top-up."""
        return round(self.earned_cents * HOUR_SECONDS / self.active_seconds)

    @property
    def rate_after_cents(self) -> int:
        """Cents per hour of this work after the top-up."""
        return round((self.earned_cents + self.cents) * HOUR_SECONDS / self.active_seconds)


@dataclass(frozen=True, slots=True)
class TopUpProposal:
    """A proposed top-up. ``rates`` are those of all approved work, under the target or not."""

    target_cents_per_hour: int
    underpaid: Sequence[UnderpaidSubmission]
    rates: Sequence[int]
    spread: RateSpread | None

    @property
    def cents(self) -> int:
        """The sum of all shortfalls, which the workers get."""
        return sum(row.shortfall_cents for row in self.underpaid)

    @property
    def fee_cents(self) -> int:
        """The marketplace's fees on the top-ups."""
        return sum(row.fee_cents for row in self.underpaid)

    @property
    def total_cents(self) -> int:
        """The sum including fees."""
        return self.cents + self.fee_cents

    @property
    def submission_count(self) -> int:
        """How many submissions are under the target."""
        return len(self.underpaid)

    @property
    def target_reached_count(self) -> int:
        """How many approved submissions reach the target now."""
        return len(self.rates) - len(self.underpaid)

    @property
    def worker_top_ups(self) -> list[WorkerTopUp]:
        """The top-up per worker, largest first."""
        by_worker: dict[int, list[UnderpaidSubmission]] = defaultdict(list)
        for row in self.underpaid:
            by_worker[row.worker].append(row)
        top_ups = [
            WorkerTopUp(
                worker,
                len(rows),
                sum(row.active_seconds for row in rows),
                sum(row.earned_cents for row in rows),
                sum(row.shortfall_cents for row in rows),
            )
            for worker, rows in by_worker.items()
        ]
        return sorted(top_ups, key=lambda top_up: (-top_up.cents, top_up.worker))


def propose_top_up(
    batch: Batch, target_cents_per_hour: int | None = None, *, promised_cents: Mapping[int, int] | None = None
) -> TopUpProposal:
    """Return the top-up that lifts each approved submission to the target; five queries.

    The default target is the project's. Earlier top-ups count as earned, paid or pending. ``promised_cents`` is an
    earlier result of ``promised_bonus_cents_by_assignment``.
    """
    target = batch.project.target_cents_per_hour if target_cents_per_hour is None else target_cents_per_hour
    bonus_cents = bonus_and_top_up_cents_by_assignment(
        batch, {batch.pk: batch}, top_up_states=_PAID_OR_OPEN_STATES, promised_cents=promised_cents
    )
    fees = batch.fees
    rows = measured_assignments(batch).filter(status=AssignmentStatus.APPROVED).order_by("pk")
    underpaid: list[UnderpaidSubmission] = []
    work: list[tuple[int, float]] = []
    for pk, assignment_id, worker, seconds in rows.values_list(
        "pk", "assignment_id", "worker_id", "submission__active_seconds"
    ):
        earned_cents = batch.reward_cents + bonus_cents[pk]
        work.append((earned_cents, seconds))
        shortfall = gap_cents(earned_cents, seconds, target)
        if shortfall:
            fee = fees.bonus_fee_cents(shortfall)
            underpaid.append(
                UnderpaidSubmission(pk, assignment_id, worker, seconds, earned_cents, shortfall, fee)
            )
    rates = [round(cents * HOUR_SECONDS / seconds) for cents, seconds in work]
    return TopUpProposal(target, underpaid, rates, rate_spread(work, target))


def top_up_history(batch: Batch) -> "QuerySet[TopUp]":
    """Return a batch's top-ups, newest first, each with ``paid``, ``paid_cents``, ``waiting`` and ``refused``."""
    waiting = Q(calls__state__in=OPEN_CALL_STATES)
    return (
        TopUp.objects.filter(batch=batch)
        .select_related("decided_by")
        .annotate(
            paid=Count("calls", filter=Q(calls__state=CallState.DONE)),
            paid_cents=Sum("calls__amount_cents", filter=Q(calls__state=CallState.DONE), default=0),
            waiting=Count("calls", filter=waiting),
            refused=Count("calls", filter=Q(calls__state=CallState.REFUSED)),
        )
        .order_by("-id")
    )


def most_frequent_top_up_errors(batch: Batch) -> list[tuple[str, int]]:
    """Return the three most frequent errors of refused top-ups with their counts."""
    calls = batch.calls.filter(top_up__isnull=False, state=CallState.REFUSED).order_by()
    return list(calls.values_list("error").annotate(n=Count("id")).order_by("-n")[:3])


def topped_up_cents(batch: Batch) -> int:
    """Return the sum of a batch's paid top-ups in cents."""
    paid = batch.calls.filter(top_up__isnull=False, state=CallState.DONE).order_by()
    return int(paid.aggregate(sum=Sum("amount_cents", default=0))["sum"])
