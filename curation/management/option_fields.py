"""Fill a dataclass of options from a command line whose options have its fields' names."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any


def option_fields(kind: type[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are fields of a dataclass."""
    return {field.name: options[field.name] for field in fields(kind) if field.name in options}
