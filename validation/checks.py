"""Mistakes in judging kinds, found at start; each message names the kind and what to mend."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from validation import registry


@register()
def check_judging_specs(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Every judging kind has a spec, and its answer schema knows every label that the spec names."""
    try:
        errors = registry.find_spec_errors()
    except LookupError:
        return []  # the kinds themselves cannot be found, which another check says
    return [Error(message, id="deerstalker.E010") for message in errors]
