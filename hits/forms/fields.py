"""The base form of console pages, and fields for money."""

from typing import Any

from django import forms

from hits.domain.money.usd import format_bare_usd, format_dollars, parse_typed_usd, parse_usd
from hits.services.launching.terms import MAX_CENTS


class PageForm(forms.Form):
    """A form whose widgets have the design's CSS class."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        for field in self.fields.values():
            if not isinstance(field.widget, forms.CheckboxInput | forms.RadioSelect):
                field.widget.attrs["class"] = "input"


class _DollarField(forms.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.widget.attrs |= {"inputmode": "decimal", "autocomplete": "off"}

    def prepare_value(self, value: Any) -> Any:
        """Show cents as dollars; keep typed text unchanged."""
        return format_bare_usd(value) if isinstance(value, int) else value


class MoneyField(_DollarField):
    """An amount in US dollars, stored as integer cents."""

    def __init__(self, *, min_cents: int = 0, **kwargs: Any) -> None:
        super().__init__(max_length=12, **kwargs)
        self.min_cents = min_cents

    def clean(self, value: Any) -> int:
        """Return cents."""
        text = str(super().clean(value)).strip().removeprefix("$")
        try:
            cents = parse_usd(text)
        except ValueError:
            raise forms.ValidationError("Enter US dollars with at most two decimals, such as 0.46.") from None
        if cents < self.min_cents:
            raise forms.ValidationError("Pay at least one cent.")
        if cents > MAX_CENTS:
            raise forms.ValidationError("Over $1,000.00 for one task; check the decimal point.")
        return cents


class BudgetField(_DollarField):
    """An optional amount in US dollars, such as a budget, as integer cents; ``None`` if empty."""

    def __init__(self, *, max_cents: int = 99_999_999_999, **kwargs: Any) -> None:
        super().__init__(max_length=16, **kwargs)
        self.max_cents = max_cents

    def clean(self, value: Any) -> int | None:
        """Return cents."""
        text = str(super().clean(value)).strip()
        if not text:
            return None
        try:
            cents = parse_typed_usd(text)
        except ValueError:
            raise forms.ValidationError(
                "Enter US dollars with at most two decimals, such as 250.00."
            ) from None
        if cents > self.max_cents:
            raise forms.ValidationError(f"Use {format_dollars(self.max_cents)} or less.")
        return cents
