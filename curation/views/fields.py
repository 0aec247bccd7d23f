"""Form fields by label, help text and limits."""

from typing import Any

from django import forms


def integer_field(
    label: str, help_text: str = "", low: int | None = None, high: int | None = None, **options: Any
) -> forms.IntegerField:
    """Return a field for a whole number between two limits."""
    return forms.IntegerField(label=label, help_text=help_text, min_value=low, max_value=high, **options)


def float_field(
    label: str, help_text: str = "", low: float | None = None, high: float | None = None, **options: Any
) -> forms.FloatField:
    """Return a field for a number between two limits."""
    return forms.FloatField(label=label, help_text=help_text, min_value=low, max_value=high, **options)


def choice_field(label: str, choices: Any = (), help_text: str = "", **options: Any) -> forms.ChoiceField:
    """Return a field for one of the choices: pairs, or a mapping of values to labels."""
    return forms.ChoiceField(label=label, choices=choices, help_text=help_text, **options)


def text_field(label: str, help_text: str = "", **options: Any) -> forms.CharField:
    """Return a field for a text."""
    return forms.CharField(label=label, help_text=help_text, **options)


def checkbox(label: str, help_text: str = "", **options: Any) -> forms.BooleanField:
    """Return an optional checkbox."""
    return forms.BooleanField(label=label, help_text=help_text, required=False, **options)
