"""Where a worker stands, as a badge."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hits.templatetags.console import icon
from validation.domain.qualification.worker_status import WorkerStatus

register = template.Library()
_BADGES = {
    WorkerStatus.NONE: ("", "", "New"),
    WorkerStatus.APPLIED: ("info", "clock", "Applied"),
    WorkerStatus.DECLINED: ("", "x", "Not passed"),
    WorkerStatus.QUALIFIED: ("info", "ok", "Qualified"),
    WorkerStatus.TRAINED: ("ok", "ok", "Trained"),
    WorkerStatus.ACTIVE: ("ok", "ok", "Active"),
    WorkerStatus.PAUSED: ("warn", "pause", "Paused"),
    WorkerStatus.DEQUALIFIED: ("bad", "x", "De-qualified"),
    WorkerStatus.BLOCKED: ("bad", "lock", "Blocked"),
}


@register.simple_tag
def status_badge(standing: str) -> SafeString:
    """Return the sign and word of a standing."""
    tone, symbol, word = _BADGES[WorkerStatus(standing)]
    sign = icon(symbol) if symbol else ""
    return format_html('<span class="badge{}">{}{}</span>', f" badge--{tone}" if tone else "", sign, word)


@register.filter
def status_label(standing: str) -> str:
    """Return a standing as people read it."""
    return _BADGES[WorkerStatus(standing)][2]
