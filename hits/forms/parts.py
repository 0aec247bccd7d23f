"""Parts of every form: how fields look, and how money is typed."""

from typing import Any

from django import forms

from hits.domain.money.usd import format_dollars, format_usd, parse_typed_usd, parse_usd
from hits.services.launching.terms import MOST_CENTS


class PageForm(forms.Form):
    """A form whose widgets look as the design's fields, and which marks what is wrong."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        for field in self.fields.values():
            if not isinstance(field.widget, forms.CheckboxInput | forms.RadioSelect):
                field.widget.attrs["class"] = "input"


class MoneyField(forms.CharField):
    """An amount in US dollars, kept as integer cents."""

    def __init__(self, *, least: int = 0, **kwargs: Any) -> None:
        super().__init__(max_length=12, **kwargs)
        self.least = least
        self.widget.attrs |= {"inputmode": "decimal", "autocomplete": "off"}

    def prepare_value(self, value: Any) -> Any:
        """Show cents as dollars; keep what was typed as it is."""
        return format_usd(value) if isinstance(value, int) else value

    def clean(self, value: Any) -> int:
        """Return cents."""
        text = str(super().clean(value)).strip().removeprefix("$")
        try:
            cents = parse_usd(text)
        except ValueError:
            raise forms.ValidationError("Use whole cents, such as 0.46.") from None
        if cents < self.least:
            raise forms.ValidationError("Pay at least one cent.")
        if cents > MOST_CENTS:
            raise forms.ValidationError("That is more than $1,000.00 for one task; check the decimal point.")
        return cents


class SumField(forms.CharField):
    """A sum of money in US dollars, such as a budget, kept as integer cents; ``None`` when nothing was typed."""

    def __init__(self, *, most: int = 99_999_999_999, **kwargs: Any) -> None:
        super().__init__(max_length=16, **kwargs)
        self.most = most
        self.widget.attrs |= {"inputmode": "decimal", "autocomplete": "off"}

    def prepare_value(self, value: Any) -> Any:
        """Show cents as dollars; keep what was typed as it is."""
        return format_usd(value) if isinstance(value, int) else value

    def clean(self, value: Any) -> int | None:
        """Return cents."""
        text = str(super().clean(value)).strip()
        if not text:
            return None
        try:
            cents = parse_typed_usd(text)
        except ValueError:
            raise forms.ValidationError("Use whole cents, such as 250.00.") from None
        if cents > self.most:
            raise forms.ValidationError(f"Use {format_dollars(self.most)} or less.")
        return cents
