"""A job's state and progress on its page and card."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hits.domain.states import JobState
from hits.models import Job
from hits.selectors.jobs import is_refused, job_done_and_total
from hits.templatetags.console import badge, icon

register = template.Library()

PHASE_LABELS = {
    JobState.QUEUED: "Waiting for a worker process",
    JobState.RUNNING: "Loading models and data",
}
DONE_DESPITE_CANCEL = "Finished before the cancellation"


register.simple_tag(job_done_and_total)


@register.filter
def phase_label(job: Job) -> str:
    """Return the label of an open job's phase before its progress is known."""
    return PHASE_LABELS.get(JobState(job.state), "")


@register.simple_tag
def job_badge(job: Job) -> SafeString:
    """Return the badge of a job's state."""
    state = job.state
    if state == JobState.DONE and job.cancel_requested:
        return format_html('<span class="badge badge--ok">{}{}</span>', icon("ok"), DONE_DESPITE_CANCEL)
    if state == JobState.WAITING:
        return format_html(
            '<span class="badge badge--info">{}{}</span>', icon("sync"), "Waiting for its steps"
        )
    if is_refused(job):
        return format_html('<span class="badge badge--warn">{}{}</span>', icon("warn"), "Refused")
    return badge(state, "job")
