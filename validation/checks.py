"""System checks of judging kinds at start; each message names the kind and how to correct it."""

from typing import Any

from django.core.checks import CheckMessage, Error, register

from validation import registry


@register()
def check_judging_specs(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Check that every judging kind has a spec and that its answer schema accepts every label of the spec."""
    try:
        errors = registry.find_spec_errors()
    except LookupError:
        return []  # another check reports kinds that cannot be found
    return [Error(message, id="deerstalker.E010") for message in errors]
