"""Money in templates: integer cents in, words out."""

from django import template

from hits.domain.money.usd import format_dollars, format_usd

register = template.Library()
NONE = "–"


@register.filter
def usd(cents: int | None) -> str:
    """Return ``$1.10`` for 110 cents; a dash when there is no amount."""
    return NONE if cents is None else format_dollars(int(cents))


@register.filter
def usd_bare(cents: int | None) -> str:
    """Return ``1.10`` for 110 cents, for columns whose heading names the unit."""
    return NONE if cents is None else format_usd(int(cents)).replace("-", "\N{MINUS SIGN}")


@register.filter
def times(amount: int, count: int) -> int:
    """Return ``amount`` × ``count``, both whole numbers."""
    return int(amount) * int(count)
