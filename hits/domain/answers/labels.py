"""Which fields of a schema hold labels to choose from, and which hold text that somebody wrote."""

from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, get_args, get_origin


def labels_of(schema: Any, field: str) -> frozenset[str] | None:
    """Return the labels that a field may hold; none where it takes free text, ``None`` where the schema is silent."""
    if (annotation := _annotation(schema, field)) is None:
        return None
    found = list(_members(annotation))
    if str in found:
        return frozenset()
    return frozenset(label for one in found for label in _labels_in(one))


def schema_of(schema: Any, field: str) -> Any:
    """Return the schema of the objects that a field holds; ``None`` where there is none."""
    members = _members(_annotation(schema, field))
    return next((one for one in members if hasattr(one, "model_fields")), None)


def _annotation(schema: Any, field: str) -> Any:
    known = getattr(schema, "model_fields", {}).get(field)
    return None if known is None or known.annotation is Any else known.annotation


def _members(annotation: Any) -> Iterator[Any]:
    """Yield what a type is made of: ``list[str | None]`` of ``str`` and ``None``; a ``Literal`` stays whole."""
    inner = () if get_origin(annotation) is Literal else get_args(annotation)
    if not inner:
        yield annotation
    for one in inner:
        yield from _members(one)


def _labels_in(member: Any) -> Iterator[str]:
    if isinstance(member, type) and issubclass(member, Enum):
        yield from (str(one.value) for one in member)
    elif get_origin(member) is Literal:
        yield from (str(value) for value in get_args(member))
