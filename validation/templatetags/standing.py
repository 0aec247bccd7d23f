"""Where a worker stands, as a badge."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hits.templatetags.console import icon
from validation.domain.qualification.worker_status import Standing

register = template.Library()
_BADGES = {
    Standing.NONE: ("", "", "New"),
    Standing.APPLIED: ("info", "clock", "Applied"),
    Standing.DECLINED: ("", "x", "Not passed"),
    Standing.QUALIFIED: ("info", "ok", "Qualified"),
    Standing.TRAINED: ("ok", "ok", "Trained"),
    Standing.ACTIVE: ("ok", "ok", "Active"),
    Standing.PAUSED: ("warn", "pause", "Paused"),
    Standing.DEQUALIFIED: ("bad", "x", "De-qualified"),
    Standing.BLOCKED: ("bad", "lock", "Blocked"),
}


@register.simple_tag
def standing_badge(standing: str) -> SafeString:
    """Return the sign and word of a standing."""
    tone, symbol, word = _BADGES[Standing(standing)]
    sign = icon(symbol) if symbol else ""
    return format_html('<span class="badge{}">{}{}</span>', f" badge--{tone}" if tone else "", sign, word)


@register.filter
def standing_word(standing: str) -> str:
    """Return a standing as people read it."""
    return _BADGES[Standing(standing)][2]
