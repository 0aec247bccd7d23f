"""A record: one item that a confirmed answer adds to a dataset."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One record of an answer, as its kind reads it.

    ``type`` is one of the kind's ``record_types``. ``index`` counts from 1 and is unique in the answer over all
    types, because a record's published id derives from it. ``images`` are row keys in the order that the type
    defines. ``fields`` match the type's schema, as plain JSON. ``bonus``: whether the record earned a bonus.
    """

    type: str
    index: int
    images: tuple[int, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    bonus: bool = False


class RecordError(ValueError):
    """An answer whose records cannot be read; the message names the record and the problem."""
