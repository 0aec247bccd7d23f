"""How the worker site writes money and time."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext

from hits.marketplace import wording

register = template.Library()
MINUTE, HOUR, DAY = 60, 3600, 86_400
EXACT_BELOW = 2 * MINUTE
TENS = 10


@register.filter
def dollars(cents: int | None) -> str:
    """``110 -> "$1.10"``, as the page's language writes it; nothing for None."""
    if cents is None:
        return ""
    # Translators: an amount of US dollars, such as $1.10
    written = gettext("$%(amount)s") % {"amount": _amount(abs(cents), grouped=True)}
    return f"\N{MINUS SIGN}{written}" if cents < 0 else written


@register.filter
def bare(cents: int | None) -> str:
    """``110 -> "1.10"``, for a column whose heading names the currency."""
    written = _amount(abs(cents or 0))
    return f"\N{MINUS SIGN}{written}" if (cents or 0) < 0 else written


@register.filter
def negated(cents: int | None) -> int:
    """``-110 -> 110``: a payout is stored as what it takes from the sum owed, and read as what was paid."""
    return -(cents or 0)


@register.filter
def less(cents: int, amount: int) -> int:
    """``cents`` less ``amount``."""
    return cents - amount


@register.filter
def without_reference(reason: str) -> str:
    """A bonus's reason without the requester's key at its end."""
    return wording.without_reference(reason)


def _amount(cents: int, *, grouped: bool = False) -> str:
    return number_format(Decimal(cents) / 100, decimal_pos=2, use_l10n=True, force_grouping=grouped)


@register.filter
def duration(seconds: float | None) -> str:
    """``284 -> "4 min 44 s"``, ``5400 -> "1 h 30 min"``; two units at most."""
    if seconds is None:
        return ""
    whole = max(0, round(seconds))
    seconds_unit = gettext("%(n)s s")
    units = (
        (gettext("%(n)s d"), DAY),
        (gettext("%(n)s h"), HOUR),
        (gettext("%(n)s min"), MINUTE),
        (seconds_unit, 1),
    )
    parts = []
    for written, size in units:
        count, whole = divmod(whole, size)
        if count:
            parts.append(written % {"n": count})
    return " ".join(parts[:2]) or seconds_unit % {"n": 0}


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
