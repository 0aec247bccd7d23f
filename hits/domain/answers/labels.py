"""Find out whether a field of a schema holds labels or free text."""

from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, get_args, get_origin


def field_labels(schema: Any, field: str) -> frozenset[str] | None:
    """Return the labels that a field may hold; empty for free text, ``None`` if the schema does not define it."""
    if (annotation := _field_type(schema, field)) is None:
        return None
    found = list(_type_members(annotation))
    if str in found:
        return frozenset()
    return frozenset(label for member in found for label in _member_labels(member))


def item_schema(schema: Any, field: str) -> Any:
    """Return the schema of the objects that a field holds, or ``None``."""
    members = _type_members(_field_type(schema, field))
    return next((member for member in members if hasattr(member, "model_fields")), None)


def _field_type(schema: Any, field: str) -> Any:
    known = getattr(schema, "model_fields", {}).get(field)
    return None if known is None or known.annotation is Any else known.annotation


def _type_members(annotation: Any) -> Iterator[Any]:
    """Yield the members of a type: ``list[str | None]`` gives ``str`` and ``None``; a ``Literal`` stays whole."""
    inner = () if get_origin(annotation) is Literal else get_args(annotation)
    if not inner:
        yield annotation
    for argument in inner:
        yield from _type_members(argument)


def _member_labels(member: Any) -> Iterator[str]:
    if isinstance(member, type) and issubclass(member, Enum):
        yield from (str(item.value) for item in member)
    elif get_origin(member) is Literal:
        yield from (str(value) for value in get_args(member))
