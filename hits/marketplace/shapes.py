"""Requests and replies checked against botocore's own model of the service.

boto3 checks types, required and unknown members and minimum lengths before a call, but neither patterns nor
enums nor maxima; the service must. The same checks are run on our replies, so that every one conforms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, OperationModel, ServiceModel, Shape, StringShape, StructureShape

# JSON can write these, and no database column or UTF-8 reply can carry them.
_UNKEPT = re.compile("[\x00\ud800-\udfff]")


class ShapeError(ValueError):
    """A value that the model does not allow; the message names its path."""


@lru_cache(maxsize=1)
def service_model() -> ServiceModel:
    """Return the MTurk model (version 2017-01-17, JSON 1.1, 39 operations) that botocore ships."""
    return ServiceModel(Loader().load_service_model("mturk", "service-2"), "mturk")


def operation_model(name: str) -> OperationModel:
    """Return the model of one operation; the name must be one of the model's."""
    return service_model().operation_model(name)


def check(shape: Shape | None, value: Any, path: str) -> None:
    """Check a JSON value against a shape. Raises ShapeError which names ``path`` and the rule broken."""
    if shape is None:
        if value:
            raise ShapeError(f"{path}: takes no parameters")
        return
    checker = _CHECKERS.get(shape.type_name)
    if checker is None:
        raise ShapeError(f"{path}: values of type {shape.type_name} are not known here")
    checker(shape, value, path)


def without_nulls(value: Any) -> Any:
    """Return JSON with null members of objects dropped: on the wire they mean "not given"."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _structure(shape: StructureShape, value: Any, path: str) -> None:
    if not isinstance(value, dict):
        raise ShapeError(f"{path}: must be an object")
    for name in shape.required_members:
        if value.get(name) is None:
            raise ShapeError(f"{path}.{name}: is required")
    for name, item in value.items():
        if name not in shape.members:
            raise ShapeError(f"{path}.{_plain(name)}: is not a parameter of this operation")
        check(shape.members[name], item, f"{path}.{name}")


def _plain(name: str) -> str:
    """Return a caller's own name so that a reply can carry it."""
    return name[:80].encode("ascii", "backslashreplace").decode()


def _list(shape: ListShape, value: Any, path: str) -> None:
    if not isinstance(value, list):
        raise ShapeError(f"{path}: must be a list")
    _bounds(shape, len(value), path, "number of items")
    for index, item in enumerate(value):
        check(shape.member, item, f"{path}[{index}]")


def _string(shape: StringShape, value: Any, path: str) -> None:
    if not isinstance(value, str):
        raise ShapeError(f"{path}: must be a string")
    if _UNKEPT.search(value):
        raise ShapeError(f"{path}: holds a NUL character or half of a surrogate pair")
    _bounds(shape, len(value), path, "length")
    pattern = shape.metadata.get("pattern")
    # The model's patterns carry their own anchors, but "$" would let a trailing line feed through.
    if pattern and not re.fullmatch(pattern.removeprefix("^").removesuffix("$"), value):
        raise ShapeError(f"{path}: {value[:80]!r} does not match {pattern}")
    if shape.enum and value not in shape.enum:
        raise ShapeError(f"{path}: {value[:80]!r} is not one of {', '.join(shape.enum)}")


def _integer(shape: Shape, value: Any, path: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ShapeError(f"{path}: must be a whole number")
    _bounds(shape, value, path, "value")


def _boolean(_shape: Shape, value: Any, path: str) -> None:
    if not isinstance(value, bool):
        raise ShapeError(f"{path}: must be true or false")


def _timestamp(_shape: Shape, value: Any, path: str) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # A whole number may be too long for a float, which isfinite would ask for.
    if not number or not (isinstance(value, int) or math.isfinite(value)):
        raise ShapeError(f"{path}: must be a time in seconds since 1970")


def _bounds(shape: Shape, number: int, path: str, what: str) -> None:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and number < low:
        raise ShapeError(f"{path}: {what} {number} is less than {low}")
    if high is not None and number > high:
        raise ShapeError(f"{path}: {what} {number} is more than {high}")


_CHECKERS: dict[str, Callable[[Any, Any, str], None]] = {
    "structure": _structure,
    "list": _list,
    "string": _string,
    "integer": _integer,
    "long": _integer,
    "boolean": _boolean,
    "timestamp": _timestamp,
}
