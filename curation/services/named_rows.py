"""What scorers, choosers and question sets have in common: their names, and facts that a job adds to their rows."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Model

from hits.services.errors import Refused

_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")


def validate_name(name: str) -> str:
    """Return the name of a model or set, stripped.

    Raises:
        Refused: it has characters that are not allowed, or looks like a number.
    """
    plain = name.strip()
    if not _NAME_PATTERN.fullmatch(plain) or plain.isdecimal():
        raise Refused(
            f"name: {name!r}; use at most 60 letters, digits, dots, spaces and hyphens, such as draft 1.0"
        )
    return plain


def first_free_name(base: str, taken: Iterable[str]) -> str:
    """Return the first of ``base 1``, ``base 2`` … that is not taken."""
    names, number = set(taken), 1
    while f"{base} {number}" in names:
        number += 1
    return f"{base} {number}"


@transaction.atomic
def merge_facts(row: Model, **changes: Mapping[str, Any]) -> None:
    """Merge values into JSON fields of a row, such as ``figures`` or ``provenance``."""
    stored = type(row)._default_manager.select_for_update().get(pk=row.pk)
    for name, facts in changes.items():
        setattr(stored, name, getattr(stored, name) | facts)
        setattr(row, name, getattr(stored, name))
    stored.save(update_fields=list(changes))


def mark_ready(row: Model, *, figures: Mapping[str, Any], weights_sha256: str) -> None:
    """Store the result of a training, and mark the model as ready. Idempotent."""
    merge_facts(row, figures=dict(figures))
    type(row)._default_manager.filter(pk=row.pk).update(weights_sha256=weights_sha256, is_ready=True)
    row.refresh_from_db()
