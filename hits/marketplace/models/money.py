"""Bonuses, payouts and the ledger. Neither Python nor SQL can change a written entry."""

from functools import reduce
from operator import or_

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from .accounts import Requester, Worker
from .append_only import AppendOnly
from .work import HIT, Assignment


class BonusPayment(models.Model):
    """A bonus paid for an assignment, in cents."""

    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="bonuses")
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="bonuses")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="bonuses")
    amount_cents = models.PositiveIntegerField()
    fee_cents = models.PositiveIntegerField()
    reason = models.TextField()
    granted_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(amount_cents__gte=1), name="marketplace_bonus_of_a_cent"),
        ]


class Payout(AppendOnly):
    """Money that was paid to a worker outside the platform, as an administrator recorded it."""

    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, related_name="payouts")
    amount_cents = models.PositiveIntegerField()
    paid_on = models.DateField()
    means = models.CharField(max_length=40)  # bank transfer, gift card, cash …
    reference = models.CharField(max_length=120)
    # Identifies the sent form, so that a second press records nothing.
    idempotency_key = models.CharField(max_length=64, unique=True, db_column="once")
    recorded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    recorded_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(amount_cents__gte=1), name="marketplace_payout_of_a_cent"),
            models.UniqueConstraint(
                fields=["worker", "paid_on", "means", "reference"], name="marketplace_payout_once"
            ),
        ]


class EntryKind(models.TextChoices):
    """Why money moved."""

    DEPOSIT = "deposit", "Deposit"
    HOLD = "hold", "Held"
    RELEASE = "release", "Released"
    REWARD = "reward", "Reward"
    BONUS = "bonus", "Bonus"
    FEE = "fee", "Fee"
    PAYOUT = "payout", "Paid out"
    ADJUSTMENT = "adjustment", "Adjustment"


_NO_AVAILABLE, _NO_HELD, _NO_WORKER = Q(available_cents=0), Q(held_cents=0), Q(worker_cents=0)
# How an entry of each kind may change the three balances, so that sums over the ledger are meaningful.
_RULES = (
    Q(kind="deposit") & Q(available_cents__gt=0) & _NO_HELD & _NO_WORKER,
    Q(kind="hold") & Q(available_cents__lt=0) & Q(held_cents=-F("available_cents")) & _NO_WORKER,
    Q(kind="release") & Q(available_cents__gt=0) & Q(held_cents=-F("available_cents")) & _NO_WORKER,
    Q(kind="reward") & _NO_AVAILABLE & Q(held_cents__lt=0) & Q(worker_cents=-F("held_cents")),
    Q(kind="bonus") & Q(available_cents__lt=0) & _NO_HELD & Q(worker_cents=-F("available_cents")),
    Q(kind="fee")
    & _NO_WORKER
    & (Q(available_cents__lt=0, held_cents=0) | Q(available_cents=0, held_cents__lt=0)),
    Q(kind="payout") & _NO_AVAILABLE & _NO_HELD & Q(worker_cents__lt=0),
    Q(kind="adjustment") & _NO_HELD,
)


class LedgerEntry(AppendOnly):
    """One movement of money, in integer cents, as signed changes of three balances.

    ``available_cents`` and ``held_cents`` change the requester's balances, ``worker_cents`` the amount owed to the
    worker.
    """

    kind = models.CharField(max_length=10, choices=EntryKind)
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, null=True, related_name="ledger")
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, related_name="ledger")
    hit = models.ForeignKey(HIT, on_delete=models.PROTECT, null=True, related_name="ledger")
    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, null=True, related_name="ledger")
    bonus = models.ForeignKey(BonusPayment, on_delete=models.PROTECT, null=True, related_name="ledger")
    payout = models.ForeignKey(Payout, on_delete=models.PROTECT, null=True, related_name="ledger")
    available_cents = models.BigIntegerField(default=0)
    held_cents = models.BigIntegerField(default=0)
    worker_cents = models.BigIntegerField(default=0)
    note = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=reduce(or_, _RULES), name="marketplace_entry_moves_by_kind"),
            models.CheckConstraint(
                condition=Q(requester__isnull=False) | Q(available_cents=0, held_cents=0),
                name="marketplace_entry_names_requester",
            ),
            models.CheckConstraint(
                condition=Q(worker__isnull=False) | Q(worker_cents=0), name="marketplace_entry_names_worker"
            ),
            models.UniqueConstraint(
                fields=["assignment"], condition=Q(kind="reward"), name="marketplace_reward_once"
            ),
            models.UniqueConstraint(
                fields=["bonus"], condition=Q(kind="bonus"), name="marketplace_bonus_once"
            ),
            models.UniqueConstraint(
                fields=["payout"], condition=Q(kind="payout"), name="marketplace_payout_booked_once"
            ),
        ]
