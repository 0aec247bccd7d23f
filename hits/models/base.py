"""Shared row behaviour."""

from enum import Enum
from typing import Any

from django.conf import settings
from django.db import models


def one_of_constraint(field: str, values: type[Enum], *, name: str) -> models.CheckConstraint:
    """Return the constraint that a column holds a value of the enum."""
    return models.CheckConstraint(
        condition=models.Q(**{f"{field}__in": [member.value for member in values]}), name=name
    )


def unique_idempotency_key_per_batch(name: str) -> models.UniqueConstraint:
    """Return the constraint that no two rows of a batch have the same idempotency key."""
    return models.UniqueConstraint(
        fields=["batch", "idempotency_key"], condition=~models.Q(idempotency_key=""), name=name
    )


class CreatedByModel(models.Model):
    """A row with its author and time; no author means a command or a deleted account."""

    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class AppendOnlyError(TypeError):
    """Raised on an attempt to change or delete an append-only row."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """Refuses bulk changes as well as single ones."""

    def update(self, **kwargs: Any) -> int:
        """Refuse."""
        raise AppendOnlyError(f"{self.model.__name__} rows are never changed")

    def delete(self) -> tuple[int, dict[str, int]]:
        """Refuse."""
        raise AppendOnlyError(f"{self.model.__name__} rows are never deleted")


class AppendOnly(models.Model):
    """A row that is inserted and never changed. Database triggers from migrations refuse raw SQL too."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert; a second save is refused."""
        if not self._state.adding:
            raise AppendOnlyError(f"{type(self).__name__} rows are never changed")
        kwargs["force_insert"] = True
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Refuse."""
        raise AppendOnlyError(f"{type(self).__name__} rows are never deleted")


class DecidedModel(AppendOnly):
    """A person's decision with its time; no person means a rule or a command."""

    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(auto_now_add=True)

    class Meta(AppendOnly.Meta):
        abstract = True
