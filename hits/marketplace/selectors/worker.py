"""A worker's tasks, submissions and earnings."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum

from hits.marketplace.models import (
    Assignment,
    Attempt,
    BonusPayment,
    EntryKind,
    LedgerEntry,
    Outcome,
    SlotState,
    Worker,
)

LARGE_COLUMNS = ("answer", "hit__question")  # up to 256 and 64 kB per row; no list shows them


@dataclass(frozen=True)
class Earnings:
    """A worker's money in cents. ``earned`` includes corrections; ``owed`` is the part not yet paid out."""

    earned: int
    rewards: int
    bonuses: int
    corrections: int
    in_review: int
    in_review_count: int
    paid_out: int

    @property
    def owed(self) -> int:
        """Earned minus paid out."""
        return self.earned - self.paid_out


def list_open_tasks(worker: Worker, now: datetime) -> QuerySet[Assignment]:
    """Return the worker's open tasks, the earliest deadline first."""
    return (
        Assignment.objects.filter(worker=worker, state=SlotState.PENDING, deadline__gt=now)
        .select_related("hit__hit_type")
        .defer(*LARGE_COLUMNS)
        .order_by("deadline")
    )


def find_latest_attempt(worker: Worker, assignment_id: str) -> Attempt | None:
    """Return the worker's latest attempt at an assignment, with any outcome, or None."""
    return (
        Attempt.objects.filter(worker=worker, assignment__assignment_id=assignment_id)
        .select_related("assignment__hit__hit_type__requester", "assignment__worker")
        .order_by("-pk")
        .first()
    )


def list_submissions(worker: Worker) -> QuerySet[Assignment]:
    """Return this worker's submissions, newest first, each with its ``bonus_cents``."""
    paid = BonusPayment.objects.filter(assignment=OuterRef("pk")).order_by().values("assignment")
    return (
        Assignment.objects.filter(worker=worker, submitted_at__isnull=False)
        .select_related("hit__hit_type__requester")
        .defer(*LARGE_COLUMNS)
        .annotate(bonus_cents=Subquery(paid.values(cents=Sum("amount_cents"))))
        .order_by("-submitted_at", "-pk")
    )


def list_returned_or_timed_out_attempts(worker: Worker, limit: int = 20) -> QuerySet[Attempt]:
    """Return the latest attempts that were returned or ran out of time."""
    ended = Attempt.objects.filter(worker=worker, outcome__in=[Outcome.RETURNED, Outcome.ABANDONED])
    return ended.select_related("assignment__hit__hit_type").order_by("-pk")[:limit]


def list_money_entries(worker: Worker) -> QuerySet[LedgerEntry]:
    """Return the ledger entries that changed the amount owed to this worker, newest first."""
    return (
        LedgerEntry.objects.filter(worker=worker)
        .exclude(worker_cents=0)
        .select_related("hit__hit_type", "assignment__hit__hit_type", "bonus")
        .order_by("-pk")
    )


def compute_earnings(worker: Worker) -> Earnings:
    """Return the worker's sums over all time."""
    paid = LedgerEntry.objects.filter(worker=worker).aggregate(
        rewards=Sum("worker_cents", filter=Q(kind=EntryKind.REWARD), default=0),
        bonuses=Sum("worker_cents", filter=Q(kind=EntryKind.BONUS), default=0),
        payouts=Sum("worker_cents", filter=Q(kind=EntryKind.PAYOUT), default=0),
        adjustments=Sum("worker_cents", filter=Q(kind=EntryKind.ADJUSTMENT), default=0),
    )
    in_review = Assignment.objects.filter(worker=worker, state=SlotState.SUBMITTED).aggregate(
        cents=Sum("hit__reward_cents", default=0), n=Count("pk")
    )
    return Earnings(
        earned=paid["rewards"] + paid["bonuses"] + paid["adjustments"],
        rewards=paid["rewards"],
        bonuses=paid["bonuses"],
        corrections=paid["adjustments"],
        in_review=in_review["cents"],
        in_review_count=in_review["n"],
        paid_out=-paid["payouts"],
    )
