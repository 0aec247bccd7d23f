"""Ledger rows: integer cents, written once."""

from django.db import models

from hits.models.base import AppendOnly


class EntryType(models.TextChoices):
    """The type of a ledger row.

    ``hold`` and ``release`` move money between the free and the held balance; the others are payments.
    """

    HOLD = "hold"
    RELEASE = "release"
    REWARD = "reward"
    BONUS = "bonus"
    FEE = "fee"


PAYMENT_TYPES = frozenset({EntryType.REWARD, EntryType.BONUS, EntryType.FEE})


class LedgerEntry(AppendOnly):
    """One movement of money. ``amount_cents`` is positive; ``entry`` is its type; ``key`` prevents repetition."""

    project = models.ForeignKey("hits.Project", on_delete=models.PROTECT, related_name="ledger")
    batch = models.ForeignKey("hits.Batch", on_delete=models.PROTECT, related_name="ledger")
    assignment = models.ForeignKey(
        "hits.Assignment", on_delete=models.PROTECT, null=True, related_name="ledger"
    )
    entry = models.CharField(max_length=10, choices=EntryType.choices)
    amount_cents = models.PositiveIntegerField()
    key = models.CharField(max_length=160, unique=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "ledger entries"
