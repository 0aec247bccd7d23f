"""Fill a dataclass of options from the command-line options that have the names of its fields."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any


def option_fields(options_class: type[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command-line options that are fields of the dataclass ``options_class``."""
    return {field.name: options[field.name] for field in fields(options_class) if field.name in options}
