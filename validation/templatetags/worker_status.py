"""Badges of worker statuses."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hits.templatetags.console import icon
from validation.domain.qualification.worker_status import WorkerStatus

register = template.Library()
_BADGES = {  # tone, icon, label
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
def status_badge(status: str) -> SafeString:
    """Return the icon and label of a worker status."""
    tone, symbol, label = _BADGES[WorkerStatus(status)]
    sign = icon(symbol) if symbol else ""
    return format_html('<span class="badge{}">{}{}</span>', f" badge--{tone}" if tone else "", sign, label)


@register.filter
def status_label(status: str) -> str:
    """Return a worker status as people read it."""
    return _BADGES[WorkerStatus(status)][2]
