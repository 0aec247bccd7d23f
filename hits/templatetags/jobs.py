"""Where a job stands, on its page and on its card."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hits.domain.states import JobState
from hits.models import Job
from hits.selectors.jobs import counts, is_refused
from hits.templatetags.console import badge, icon

register = template.Library()

PHASES = {
    JobState.QUEUED: "Waiting for a free worker",
    JobState.RUNNING: "Preparing: loading models and data",
}
DONE_ANYWAY = "Finished before it could stop"


@register.simple_tag
def job_counts(job: Job) -> tuple[int, int]:
    """Return how much of a job is done, and of how much; parts are counted in."""
    return counts(job)


@register.filter
def phase(job: Job) -> str:
    """Return what an open job does before it can count: it waits for a worker, or loads what it needs."""
    return PHASES.get(JobState(job.state), "")


@register.simple_tag
def job_state(job: Job) -> SafeString:
    """Return the sign and word of a job's state."""
    state = job.state
    if state == JobState.DONE and job.cancel_requested:
        return format_html('<span class="badge badge--ok">{}{}</span>', icon("ok"), DONE_ANYWAY)
    if state == JobState.WAITING:
        return format_html(
            '<span class="badge badge--info">{}{}</span>', icon("sync"), "Waiting for its parts"
        )
    if is_refused(job):
        return format_html('<span class="badge badge--warn">{}{}</span>', icon("warn"), "Refused")
    return badge(state, "job")
