"""Filters that format integer cents."""

from django import template

from hits.domain.money.usd import format_bare_usd, format_dollars

register = template.Library()
NO_AMOUNT = "–"


@register.filter
def usd(cents: int | None) -> str:
    """Return ``$1.10`` for 110 cents; a dash without an amount."""
    return NO_AMOUNT if cents is None else format_dollars(int(cents))


@register.filter
def usd_bare(cents: int | None) -> str:
    """Return ``1.10`` for 110 cents, for columns with the unit in their heading."""
    return NO_AMOUNT if cents is None else format_bare_usd(int(cents)).replace("-", "\N{MINUS SIGN}")
