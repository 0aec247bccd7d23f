"""Numbers of a report in templates."""

from django import template

register = template.Library()


@register.filter
def grouped(count: int | None) -> str:
    """Return ``363,000`` for 363000; a dash where there is no number."""
    return "–" if count is None else f"{count:,}"
