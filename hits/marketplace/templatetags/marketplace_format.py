"""Tags and filters of the worker site: money, time, states of a country, unread messages."""

from decimal import Decimal

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext

from hits.domain.workers.subdivisions import country_subdivisions
from hits.marketplace.closure_reasons import remove_bonus_reference
from hits.marketplace.models import Worker
from hits.marketplace.selectors.messages import count_unread

register = template.Library()
register.filter(remove_bonus_reference)
register.simple_tag(count_unread, name="unread_message_count")
MINUTE, HOUR, DAY = 60, 3600, 86_400
WHOLE_MINUTES_FROM = 2 * MINUTE
TEN_SECONDS = 10


@register.filter
def dollars(cents: int | None) -> str:
    """``110 -> "$1.10"``, in the format of the page's language; an empty string for None."""
    if cents is None:
        return ""
    # Translators: an amount of US dollars, such as $1.10
    text = gettext("$%(amount)s") % {"amount": _amount(abs(cents))}
    return f"\N{MINUS SIGN}{text}" if cents < 0 else text


@register.filter
def amount(cents: int | None) -> str:
    """``110 -> "1.10"``, for columns with the currency in their heading."""
    text = _amount(abs(cents or 0))
    return f"\N{MINUS SIGN}{text}" if (cents or 0) < 0 else text


@register.filter
def negate(cents: int | None) -> int:
    """``-110 -> 110``: a payout is stored as a negative change of the amount owed and shown as a positive sum."""
    return -(cents or 0)


@register.filter
def minus(cents: int, deducted: int) -> int:
    """``cents`` minus ``deducted``."""
    return cents - deducted


def _amount(cents: int) -> str:
    return number_format(Decimal(cents) / 100, decimal_pos=2, use_l10n=True, force_grouping=True)


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
    for text, size in units:
        count, whole = divmod(whole, size)
        if count:
            parts.append(text % {"n": count})
    return " ".join(parts[:2]) or seconds_unit % {"n": 0}


@register.filter
def approximate_duration(seconds: float | None) -> str:
    """A rounded duration: whole minutes from two minutes up, tens of seconds below."""
    if seconds is None:
        return ""
    step = MINUTE if seconds >= WHOLE_MINUTES_FROM else TEN_SECONDS
    return duration(max(step, round(seconds / step) * step))


@register.filter
def countdown(seconds: float) -> str:
    """``1300 -> "21:40"``, ``3725 -> "1:02:05"``."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, HOUR)
    minutes, last = divmod(rest, MINUTE)
    return f"{hours}:{minutes:02d}:{last:02d}" if hours else f"{minutes}:{last:02d}"


@register.filter
def seconds_until(moment: object, now: object) -> int:
    """Whole seconds from ``now`` to ``moment``, never negative."""
    return max(0, int((moment - now).total_seconds()))  # type: ignore[operator]


@register.simple_tag
def get_country_states(country: str) -> list[tuple[str, str]]:
    """Return ``(code, name)`` of a country's known states, sorted by name."""
    return sorted(country_subdivisions(country).items(), key=lambda pair: pair[1])


@register.filter
def declared_state_name(worker: Worker) -> str:
    """Return the name of the worker's declared state, or an empty string."""
    return country_subdivisions(worker.country).get(worker.subdivision, "")
