"""How the worker site writes money and time."""

from __future__ import annotations

from django import template

from hits.domain.money import format_dollars, format_usd

register = template.Library()
MINUTE, HOUR, DAY = 60, 3600, 86_400
EXACT_BELOW = 2 * MINUTE
TENS = 10


@register.filter
def dollars(cents: int | None) -> str:
    """``110 -> "$1.10"``; nothing for None."""
    return "" if cents is None else format_dollars(cents)


@register.filter
def bare(cents: int | None) -> str:
    """``110 -> "1.10"``, for a column whose heading names the currency."""
    return format_usd(cents or 0).replace("-", "\N{MINUS SIGN}")


@register.filter
def duration(seconds: float | None) -> str:
    """``284 -> "4 min 44 s"``, ``5400 -> "1 h 30 min"``; two units at most."""
    if seconds is None:
        return ""
    whole = max(0, round(seconds))
    units = (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", 1))
    parts = []
    for name, size in units:
        count, whole = divmod(whole, size)
        if count:
            parts.append((name, count))
    shown = parts[:2] or [("s", 0)]
    return " ".join(f"{count} {name}" for name, count in shown)


@register.filter
def usual(seconds: float | None) -> str:
    """A usual time without false precision: whole minutes from two minutes up, tens of seconds below."""
    if seconds is None:
        return ""
    step = MINUTE if seconds >= EXACT_BELOW else TENS
    return duration(max(step, round(seconds / step) * step))


@register.filter
def clock(seconds: float) -> str:
    """``1300 -> "21:40"``, ``3725 -> "1:02:05"``."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, HOUR)
    minutes, last = divmod(rest, MINUTE)
    return f"{hours}:{minutes:02d}:{last:02d}" if hours else f"{minutes}:{last:02d}"


@register.filter
def seconds_until(moment: object, now: object) -> int:
    """Whole seconds from ``now`` to ``moment``, never negative."""
    return max(0, int((moment - now).total_seconds()))  # type: ignore[operator]
