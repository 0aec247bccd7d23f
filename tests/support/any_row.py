"""A row of any model, filled with whatever its columns take: for tests of who reaches a row, not of what it says."""

import itertools
import uuid
from datetime import date
from typing import Any

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from hits.models import Project

_numbers = itertools.count(1)


class Rows:
    """Makes one row a model, all belonging to one project and, where they name a person, to one person."""

    def __init__(self, project: Project, person: User, **known: dict[str, Any]) -> None:
        """Take the project's rows; ``known`` are values that a model insists on, by its name."""
        self._known = known
        self._made: dict[type[models.Model], models.Model] = {Project: project, User: person}

    def add(self, row: models.Model) -> None:
        """Let a row that was made elsewhere stand for its model."""
        self._made[type(row)] = row

    def of(self, model: type[models.Model]) -> Any:
        """Return the row of a model, made at the first call with all that it needs."""
        if model not in self._made:
            known = self._known.get(model.__name__, {})
            values = {
                field.attname: self._value(field)
                for field in model._meta.concrete_fields
                if not field.primary_key and field.name not in known and _is_needed(field)
            }
            self._made[model] = model._default_manager.create(**values, **known)
        return self._made[model]

    def _value(self, field: "models.Field[Any, Any]") -> Any:
        if isinstance(field, models.ForeignKey):
            return self.of(field.related_model).pk  # type: ignore[arg-type]
        number = next(_numbers)
        found: list[tuple[type[models.Field[Any, Any]], Any]] = [
            (models.BooleanField, False),
            (models.UUIDField, uuid.uuid4()),
            (models.DateTimeField, timezone.now()),
            (models.DateField, date(2026, 11, 1)),
            (models.JSONField, {}),
            (models.FloatField, 0.5),
            (models.IntegerField, number),
            (models.SlugField, f"x{number}"),
            (models.CharField, f"x{number}"[: getattr(field, "max_length", None) or 20]),
            (models.TextField, f"x{number}"),
            (models.FileField, f"x{number}"),
        ]
        return next(value for kind, value in found if isinstance(field, kind))


def _is_needed(field: "models.Field[Any, Any]") -> bool:
    """Whether a row cannot be made without it. What links a row to its project is filled in wherever it may be."""
    if getattr(field, "auto_now_add", False) or getattr(field, "auto_now", False):
        return False
    if field.name in {"project"}:
        return True
    return not (field.null or field.has_default())
