"""Rows that are written once. Migrations add database triggers that hold against raw SQL too."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models


class AppendOnlyError(TypeError):
    """Something tried to change or delete a row that is evidence."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """Reading and adding only."""

    def update(self, **_kwargs: Any) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError(f"{self.model.__name__} rows are never changed.")

    def delete(self) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError(f"{self.model.__name__} rows are never deleted.")

    def bulk_update(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError(f"{self.model.__name__} rows are never changed.")


class AppendOnly(models.Model):
    """A row of a trail."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert; refuse anything that would be an update."""
        if self.pk is not None or not self._state.adding:
            raise AppendOnlyError(f"{type(self).__name__} rows are never changed.")
        super().save(*args, **kwargs)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError(f"{type(self).__name__} rows are never deleted.")
