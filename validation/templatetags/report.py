"""Number formats of reports."""

from django import template

from hits.charts import scale

register = template.Library()


@register.filter
def thousands(count: int | None) -> str:
    """Return ``363,000`` for 363000; a dash without a number."""
    return "–" if count is None else f"{count:,}"


@register.filter
def decimals(number: float | None, places: int) -> str:
    """Return ``−0.12`` for -0.1234 and 2 places, with a real minus sign; a dash without a number."""
    return "–" if number is None else scale.decimal_text(number, places)
