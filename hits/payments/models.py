"""Ledger rows: integer cents, written once."""

from typing import Any

from django.db import models


class Entry(models.TextChoices):
    """The type of a ledger row.

    ``hold`` and ``release`` move money between free and held; ``reward``, ``bonus`` and ``fee`` are payments.
    """

    HOLD = "hold"
    RELEASE = "release"
    REWARD = "reward"
    BONUS = "bonus"
    FEE = "fee"


class LedgerError(TypeError):
    """A ledger row was to be changed or deleted."""


class LedgerQuerySet(models.QuerySet[Any]):
    """Refuses bulk changes."""

    def update(self, **kwargs: Any) -> int:
        """Refuse."""
        raise LedgerError("ledger rows are never changed: write a counter-entry")

    def delete(self) -> tuple[int, dict[str, int]]:
        """Refuse."""
        raise LedgerError("ledger rows are never deleted: write a counter-entry")


class LedgerEntry(models.Model):
    """One movement. ``amount_cents`` is positive; ``entry`` gives the direction; ``key`` prevents repetition."""

    project = models.ForeignKey("hits.Project", on_delete=models.PROTECT, related_name="ledger")
    batch = models.ForeignKey("hits.Batch", on_delete=models.PROTECT, related_name="ledger")
    assignment = models.ForeignKey(
        "hits.Assignment", on_delete=models.PROTECT, null=True, related_name="ledger"
    )
    entry = models.CharField(max_length=10, choices=Entry.choices)
    amount_cents = models.PositiveIntegerField()
    key = models.CharField(max_length=160, unique=True)
    at = models.DateTimeField(auto_now_add=True)

    objects = LedgerQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "ledger entries"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert only."""
        if not self._state.adding:
            raise LedgerError("ledger rows are never changed: write a counter-entry")
        kwargs["force_insert"] = True
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refuse."""
        raise LedgerError("ledger rows are never deleted: write a counter-entry")
