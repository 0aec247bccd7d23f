"""Where a job stands, on its page and on its card."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hits.domain.states import JobState
from hits.models import Job
from hits.selectors.jobs import counts
from hits.templatetags.console import badge, icon

register = template.Library()


@register.simple_tag
def job_counts(job: Job) -> tuple[int, int]:
    """Return how much of a job is done, and of how much; parts are counted in."""
    return counts(job)


@register.simple_tag
def job_state(state: str) -> SafeString:
    """Return the sign and word of a job's state."""
    if state == JobState.WAITING:
        return format_html(
            '<span class="badge badge--info">{}{}</span>', icon("sync"), "Waiting for its parts"
        )
    return badge(state, "job")
