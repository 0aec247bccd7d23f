"""Filters for shares, sizes and lists."""

from django import template

from hits.charts.scale import percent_text

register = template.Library()
KILO = 1000
MICRO_DOLLARS, MICRO_CENT, MICRO_FINE = 1_000_000, 10_000, 100


@register.filter
def percent(share: float | None) -> str:
    """Return ``31.2%`` for 0.312; a dash where there is nothing to measure."""
    return percent_text(share if isinstance(share, int | float) else None)


@register.filter
def scientific(number: float | None) -> str:
    """Return ``1.2e-13``; a dash where there is nothing to measure, and 0 as it is."""
    return "–" if number is None else f"{number:.1e}" if number else "0"


@register.filter
def join_if_list(value: object) -> object:
    """Return a list's values joined by commas, and anything else unchanged."""
    return ", ".join(map(str, value)) if isinstance(value, list) else value


@register.filter
def file_size(count: int) -> str:
    """Return ``38.4 MB``, ``12.0 kB`` or ``312 B``."""
    if count < KILO:
        return f"{count} B"
    return f"{count / KILO:.1f} kB" if count < KILO**2 else f"{count / KILO**2:.1f} MB"


@register.filter
def micro_usd(micro: int | None) -> str:
    """Return ``$1.25`` for 1,250,000 micro-dollars, ``$0.0042`` below whole cents; a dash without an amount."""
    if micro is None:
        return "–"
    decimals = 2 if micro % MICRO_CENT == 0 else 4 if micro % MICRO_FINE == 0 else 6
    return f"${micro / MICRO_DOLLARS:,.{decimals}f}"
