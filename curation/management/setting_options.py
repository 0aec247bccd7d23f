"""Options of a command for the settings in a frozen dataclass."""

from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any

from curation.management.encoder_names import make_encoder_path_absolute


def add_setting_options(
    parser: ArgumentParser,
    kind: type[Any],
    help_texts: Mapping[str, str],
    *,
    model_default: str,
    with_paths: Collection[str] = ("model",),
) -> None:
    """Add an option for each setting of ``help_texts``; without the option, the recipe or the default applies.

    Args:
        kind: the dataclass. model_default: the default of ``model``, for its help. with_paths: settings
            that may name a folder, which becomes absolute.
    """
    group = parser.add_argument_group("settings")
    defaults = {field.name: field.default for field in fields(kind)}
    for name, help_text in help_texts.items():
        flag, default = f"--{name.replace('_', '-')}", defaults[name]
        if isinstance(default, bool):
            group.add_argument(flag, action=BooleanOptionalAction, default=None, help=help_text)
            continue
        convert: Callable[[str], Any] = type(default) if isinstance(default, int | float) else str
        if name in with_paths:
            convert = make_encoder_path_absolute
        shown = model_default if name == "model" else str(default) or "none"
        group.add_argument(flag, type=convert, default=None, help=f"{help_text}; default {shown}")


def add_default_options(parser: ArgumentParser, defaults: Any, help_texts: Mapping[str, str]) -> None:
    """Add an option for each number of ``help_texts``, with the type and the value that ``defaults`` has for it."""
    for name, help_text in help_texts.items():
        flag, default = f"--{name.replace('_', '-')}", getattr(defaults, name)
        parser.add_argument(
            flag, type=type(default), default=default, help=f"{help_text}; default: {default}"
        )


def given_settings(options: Mapping[str, Any], help_texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that the command line names."""
    return {name: options[name] for name in help_texts if options[name] is not None}
