"""A record: one piece of data that a confirmed answer gives to a dataset."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One record of an answer, as its kind reads it.

    ``type`` is one of the kind's ``record_types``. ``index`` counts from 1, unique in the answer over all types,
    since a record's published id is made of it. ``images`` are row keys in the order that means something to the
    type; ``fields`` are what the type's schema accepts, as plain JSON. ``bonus``: whether it earned a bonus.
    """

    type: str
    index: int
    images: tuple[int, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    bonus: bool = False


class RecordError(ValueError):
    """An answer whose records cannot be read; the message names the record and what is wrong with it."""
