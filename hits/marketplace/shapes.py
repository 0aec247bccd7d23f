"""Check requests and replies against botocore's own model of the service.

Before a call boto3 checks types, required and unknown members and minimum lengths. The service must check patterns,
enums and maxima. The same checks run on our replies, so that each one conforms.
"""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, ServiceModel, Shape, StringShape, StructureShape

# JSON can hold these characters; database columns and UTF-8 replies cannot.
_UNSTORABLE_CHARACTER_PATTERN = re.compile("[\x00\ud800-\udfff]")


class ShapeError(ValueError):
    """A value that does not fit the model; the message names its path."""


@lru_cache(maxsize=1)
def service_model() -> ServiceModel:
    """Return the MTurk model (version 2017-01-17, JSON 1.1, 39 operations) that botocore ships."""
    return ServiceModel(Loader().load_service_model("mturk", "service-2"), "mturk")


def check_shape(shape: Shape | None, value: Any, path: str) -> None:
    """Check a JSON value against a shape. Raises ShapeError with ``path`` and the broken rule."""
    if shape is None:
        if value:
            raise ShapeError(f"{path}: takes no parameters")
        return
    checker = _CHECKERS.get(shape.type_name)
    if checker is None:
        raise ShapeError(f"{path}: values of type {shape.type_name} are not supported")
    checker(shape, value, path)


def drop_nulls(value: Any) -> Any:
    """Return JSON without null members of objects; in the API null means "not given"."""
    if isinstance(value, dict):
        return {key: drop_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [drop_nulls(item) for item in value]
    return value


def _check_structure(shape: StructureShape, value: Any, path: str) -> None:
    if not isinstance(value, dict):
        raise ShapeError(f"{path}: must be an object")
    for name in shape.required_members:
        if value.get(name) is None:
            raise ShapeError(f"{path}.{name}: is required")
    for name, item in value.items():
        if name not in shape.members:
            raise ShapeError(f"{path}.{_printable_name(name)}: is not a parameter of this operation")
        check_shape(shape.members[name], item, f"{path}.{name}")


def _printable_name(name: str) -> str:
    """Return a caller's own name in printable ASCII, at most 80 characters."""
    return name[:80].encode("ascii", "backslashreplace").decode()


def _check_list(shape: ListShape, value: Any, path: str) -> None:
    if not isinstance(value, list):
        raise ShapeError(f"{path}: must be a list")
    _check_bounds(shape, len(value), path, "number of items")
    for index, item in enumerate(value):
        check_shape(shape.member, item, f"{path}[{index}]")


def _check_string(shape: StringShape, value: Any, path: str) -> None:
    if not isinstance(value, str):
        raise ShapeError(f"{path}: must be a string")
    if _UNSTORABLE_CHARACTER_PATTERN.search(value):
        raise ShapeError(f"{path}: holds a NUL character or half of a surrogate pair")
    _check_bounds(shape, len(value), path, "length")
    pattern = shape.metadata.get("pattern")
    # The model's patterns have anchors, but "$" also matches before a trailing line feed.
    if pattern and not re.fullmatch(pattern.removeprefix("^").removesuffix("$"), value):
        raise ShapeError(f"{path}: {value[:80]!r} does not match {pattern}")
    if shape.enum and value not in shape.enum:
        raise ShapeError(f"{path}: {value[:80]!r} is not one of {', '.join(shape.enum)}")


def _check_integer(shape: Shape, value: Any, path: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ShapeError(f"{path}: must be a whole number")
    _check_bounds(shape, value, path, "value")


def _check_boolean(_shape: Shape, value: Any, path: str) -> None:
    if not isinstance(value, bool):
        raise ShapeError(f"{path}: must be true or false")


def _check_timestamp(_shape: Shape, value: Any, path: str) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # isfinite converts to float, and a whole number may be too large for one.
    if not is_number or not (isinstance(value, int) or math.isfinite(value)):
        raise ShapeError(f"{path}: must be a time in seconds since 1970")


def _check_bounds(shape: Shape, number: int, path: str, quantity: str) -> None:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if low is not None and number < low:
        raise ShapeError(f"{path}: {quantity} {number} is less than {low}")
    if high is not None and number > high:
        raise ShapeError(f"{path}: {quantity} {number} is more than {high}")


_CHECKERS: dict[str, Callable[[Any, Any, str], None]] = {
    "structure": _check_structure,
    "list": _check_list,
    "string": _check_string,
    "integer": _check_integer,
    "long": _check_integer,
    "boolean": _check_boolean,
    "timestamp": _check_timestamp,
}
