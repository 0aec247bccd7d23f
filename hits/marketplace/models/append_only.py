"""Append-only rows. Migrations add database triggers that also refuse raw SQL."""

from typing import Any, NoReturn

from django.db import models


class AppendOnlyError(TypeError):
    """An attempt to change or delete an append-only row."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """A query set that can read and insert only."""

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
    """A row that is inserted once and never changed."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert the row; refuse an update."""
        if self.pk is not None or not self._state.adding:
            raise AppendOnlyError(f"{type(self).__name__} rows are never changed.")
        super().save(*args, **kwargs)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError(f"{type(self).__name__} rows are never deleted.")
