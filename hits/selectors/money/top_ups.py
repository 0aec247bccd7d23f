"""What would lift a batch's underpaid work to the target, and what was topped up before."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet, Sum

from hits.domain.money.pay import HOUR, Spread, cents_per_hour, gap_cents, spread
from hits.domain.states import OPEN_CALL_STATES, AssignmentStatus, CallState
from hits.models import Batch, TopUp, Worker
from hits.selectors.money.pay import bonuses_of, counted

# A refused call is over: what it was to pay is offered again. Every other one is paid, or on its way.
_GIVEN = (*OPEN_CALL_STATES, CallState.DONE)


@dataclass(frozen=True, slots=True)
class Gap:
    """One approved submission under the target: what it earned so far, and what is missing. Cents and seconds."""

    assignment: int
    assignment_id: str
    worker: int
    active_seconds: float
    earned_cents: int
    cents: int
    fee_cents: int

    @property
    def worker_name(self) -> str:
        """The worker as pages name them."""
        return str(Worker(pk=self.worker))

    @property
    def rate_cents(self) -> int | None:
        """Cents per hour before the top-up."""
        return cents_per_hour(self.earned_cents, self.active_seconds)


@dataclass(frozen=True, slots=True)
class Share:
    """What one worker would get, over so many submissions under the target."""

    worker: int
    submissions: int
    active_seconds: float
    earned_cents: int
    cents: int

    @property
    def worker_name(self) -> str:
        """The worker as pages name them."""
        return str(Worker(pk=self.worker))

    @property
    def before_cents(self) -> int:
        """Cents per hour of this work before the top-up."""
        return round(self.earned_cents * HOUR / self.active_seconds)

    @property
    def after_cents(self) -> int:
        """Cents per hour of this work after it."""
        return round((self.earned_cents + self.cents) * HOUR / self.active_seconds)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A top-up as it would be now. ``rates`` are those of all approved work, under the target or not."""

    target_cents_per_hour: int
    gaps: Sequence[Gap]
    rates: Sequence[int]
    spread: Spread | None

    @property
    def cents(self) -> int:
        """What workers get."""
        return sum(gap.cents for gap in self.gaps)

    @property
    def fee_cents(self) -> int:
        """What the marketplace takes on top."""
        return sum(gap.fee_cents for gap in self.gaps)

    @property
    def total_cents(self) -> int:
        """Everything that leaves."""
        return self.cents + self.fee_cents

    @property
    def submissions(self) -> int:
        """How many submissions are under the target."""
        return len(self.gaps)

    @property
    def reached(self) -> int:
        """How many approved submissions reach the target as they are."""
        return len(self.rates) - len(self.gaps)

    @property
    def shares(self) -> list[Share]:
        """Who gets how much, the most first."""
        by_worker: dict[int, list[Gap]] = defaultdict(list)
        for gap in self.gaps:
            by_worker[gap.worker].append(gap)
        found = [
            Share(
                worker,
                len(rows),
                sum(row.active_seconds for row in rows),
                sum(row.earned_cents for row in rows),
                sum(row.cents for row in rows),
            )
            for worker, rows in by_worker.items()
        ]
        return sorted(found, key=lambda share: (-share.cents, share.worker))


def proposal_for(
    batch: Batch, target_cents_per_hour: int | None = None, *, promised: Mapping[int, int] | None = None
) -> Proposal:
    """Return what lifts each approved submission to the target (the project's, unless one is named); five queries.

    What was topped up before counts as earned, whether it is paid already or on its way. ``promised`` is what
    ``promised_bonuses`` returned, where somebody asked already.
    """
    target = batch.project.target_cents_per_hour if target_cents_per_hour is None else target_cents_per_hour
    extras = bonuses_of(batch, {batch.pk: batch}, top_ups=_GIVEN, promised=promised)
    fees = batch.fees
    rows = counted(batch).filter(status=AssignmentStatus.APPROVED).order_by("pk")
    gaps: list[Gap] = []
    work: list[tuple[int, float]] = []
    for pk, assignment_id, worker, seconds in rows.values_list(
        "pk", "assignment_id", "worker_id", "submission__active_seconds"
    ):
        earned = batch.reward_cents + extras[pk]
        work.append((earned, seconds))
        missing = gap_cents(earned, seconds, target)
        if missing:
            fee = fees.bonus_fee_cents(missing)
            gaps.append(Gap(pk, assignment_id, worker, seconds, earned, missing, fee))
    rates = [round(cents * HOUR / seconds) for cents, seconds in work]
    return Proposal(target, gaps, rates, spread(work, target))


def history(batch: Batch) -> "QuerySet[TopUp]":
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


def why_refused(batch: Batch) -> list[tuple[str, int]]:
    """Return what the marketplace, or whoever stopped it, said of top-ups that were not paid, with how often."""
    calls = batch.calls.filter(top_up__isnull=False, state=CallState.REFUSED).order_by()
    return list(calls.values_list("error").annotate(n=Count("id")).order_by("-n")[:3])


def topped_up_cents(batch: Batch) -> int:
    """Return what workers got by top-ups of a batch so far."""
    paid = batch.calls.filter(top_up__isnull=False, state=CallState.DONE).order_by()
    return int(paid.aggregate(sum=Sum("amount_cents", default=0))["sum"])
