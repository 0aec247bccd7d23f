"""Read the settings of a training run, a frozen dataclass, from plain values. No torch.

The type of each field decides which values it takes: a truth value, a whole number, a number, a text, or one of the
values of an enumeration.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import StrEnum
from typing import Any, TypeVar, get_type_hints

from curation.records import InvalidInput

Settings = TypeVar("Settings")
_TYPE_LABELS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_ACCEPTED: dict[type, tuple[type, ...]] = {float: (int, float)}


def dump_settings(settings: Any) -> dict[str, Any]:
    """Return a settings object as plain JSON values, as ``parse_settings`` reads them."""
    values = asdict(settings).items()
    return {name: str(value) if isinstance(value, StrEnum) else value for name, value in values}


def parse_settings(kind: type[Settings], raw: Mapping[str, Any]) -> Settings:
    """Return a settings object from plain values; missing settings have their defaults.

    Raises:
        InvalidInput: an unknown setting, a missing model or an invalid value; the message names it.
    """
    types = get_type_hints(kind)
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    unknown = sorted(set(raw) - set(known))
    if unknown:
        raise InvalidInput(f"{unknown[0]}: is not a setting of a training run; use {', '.join(known)}")
    if "model" not in raw:
        raise InvalidInput("model: is missing; give the starting weights")
    return kind(**{name: _parse_setting(name, value, types[name]) for name, value in raw.items()})


def check_minimum(name: str, value: int, minimum: int) -> None:
    """Raise InvalidInput if a setting is below its minimum."""
    if value < minimum:
        raise InvalidInput(f"{name}: {value} is too small; use at least {minimum}")


def _parse_setting(name: str, value: Any, expected: type) -> Any:
    if issubclass(expected, StrEnum):
        try:
            return expected(value)
        except ValueError as error:
            raise InvalidInput(f"{name}: {value!r} is not known; use {', '.join(expected)}") from error
    is_truth_value = isinstance(value, bool)
    if not isinstance(value, _ACCEPTED.get(expected, (expected,))) or is_truth_value != (expected is bool):
        raise InvalidInput(f"{name}: {value!r} is not {_TYPE_LABELS[expected]}")
    return value
