"""Tags and filters of console pages: navigation, badges, times and labels."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import template
from django.template.context import RequestContext
from django.templatetags.static import static
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hits.domain.answers import evidence
from hits.models import AuditEvent, Project
from hits.navigation import page_url
from hits.observing.pairs import Confidence
from hits.selectors.console import count_unserved_jobs, count_waiting_assignments
from hits.selectors.jobs import job_speed_label
from hits.selectors.roles import visitor_role

register = template.Library()

# Section, label and URL name; the last five belong to apps above this one.
_NAV = (
    ("batches", "Batches", "project-batches"),
    ("images", "Photos", "project-images"),
    ("instructions", "Instructions", "project-instructions"),
    ("review", "Review", "project-review"),
    ("pay", "Pay", "project-pay"),
    ("judging", "Judging", "judging"),
    ("curation", "Curation", "curation"),
    ("triplets", "Triplets", "scenes"),
    ("versions", "Versions", "versions"),
    ("scorers", "Scorers", "scorers"),
    ("people", "People", "workers"),
)
# The tabs below People; some belong to apps above, and only admins see the last.
_PEOPLE_TABS = (
    ("workers", "Workers", "workers"),
    ("applicants", "Applicants", "applicants"),
    ("training", "Training", "training-queue"),
    ("members", "Members", "project-people"),
    ("consent", "Consent text", "project-consent"),
    ("rules", "Worker rules", "worker-rules"),
    ("history", "History", "project-history"),
)
WaitingCounter = Callable[[Project], int]
_section_families: dict[str, str] = {}  # sections that only projects of one dataset family have
_counters: dict[str, list[WaitingCounter]] = {"review": [count_waiting_assignments]}
_BADGES = {
    "collecting": ("ok", "clock", "Collecting"),
    "publishing": ("info", "up", "Publishing"),
    "stopped": ("bad", "alert", "Publishing stopped"),
    "reviewing": ("warn", "eye", "Waiting for review"),
    "done": ("ok", "ok", "All decided"),
    "closing": ("info", "clock", "Closing"),
    "closed": ("", "lock", "Closed"),
    "draft": ("", "", "Draft"),
    "waiting": ("warn", "", "Waiting"),
    "approved": ("ok", "ok", "Approved"),
    "paid": ("ok", "ok", "Paid"),
    "outstanding": ("warn", "clock", "Payment outstanding"),
    "refused": ("bad", "alert", "Payment refused"),
    "rejected": ("bad", "x", "Rejected"),
    "unmatched": ("bad", "alert", "Not matched"),
    "queued": ("info", "clock", "Queued"),
    "running": ("info", "sync", "Running"),
    "failed": ("bad", "alert", "Failed"),
    "cancelled": ("", "x", "Cancelled"),
    "job.done": ("ok", "ok", "Done"),
    "applicant.waiting": ("info", "clock", "Waiting for grades"),
    "applicant.unexplained": ("warn", "alert", "Needs a reason"),
    "applicant.ready": ("info", "eye", "Graded"),
    "applicant.passed": ("ok", "ok", "Passed"),
    "applicant.declined": ("", "x", "Not passed"),
}
ACTION_LABELS = {
    "project.create": "Created the project",
    "member.role": "Assigned a role",
    "consent.publish": "Published a consent text",
    "batch.launch": "Launched a batch",
    "project.family": "Changed the dataset family",
    "batch.extend": "Extended a batch",
    "batch.close": "Stopped offering a batch",
    "batch.read_records": "Read the records of a batch again",
    "batch.cap": "Changed a batch’s budget cap",
    "project.money": "Changed target, cap or threshold",
    "batch.top_up": "Topped up a batch’s pay",
    "batch.instructions": "Chose a batch’s instructions",
    "instructions.publish": "Published instructions",
    "template.upload": "Uploaded a page template",
    "results.download": "Downloaded results",
    "results.upload": "Uploaded decisions",
    "assignment.approve": "Approved a submission",
    "assignment.reject": "Rejected a submission",
    "assignment.override": "Approved a rejected submission",
    "payment.retry": "Retried a refused payment",
    "reconcile.approve": "Approved a submission that does not match",
    "reconcile.reject": "Rejected a submission that does not match",
    "reconcile.keep": "Left unchanged a submission that does not match",
    "reconcile.compensate": "Compensated a lost submission",
    "reconcile.begin_anew": "Published a missing task again",
    "reconcile.give_up": "Gave up a missing task",
    "reconcile.expire_surplus": "Stopped offering an unknown task",
    "reconcile.book_bonus": "Posted a bonus that a script sent",
    "applicant.pass": "Passed an applicant",
    "applicant.decline": "Declined an applicant",
    "worker.grant": "Granted a qualification",
    "worker.revoke": "Revoked a qualification",
    "worker.block": "Blocked a worker",
    "worker.unblock": "Lifted a block",
    "standing.active": "Set a worker active",
    "standing.blocked": "Blocked a worker",
    "standing.paused": "Paused a worker",
    "standing.dequalified": "De-qualified a worker",
    "feedback.write": "Gave feedback on a training attempt",
    "rule.save": "Saved a worker rule",
    "choice.launch": "Launched multiple-choice questions",
    "lambda.choose": "Chose λ of Adversarial Matching",
    "digest.send": "Sent a worker a digest of 48 hours",
    "gold.add": "Added a gold item",
    "gold.change": "Changed a gold item",
    "gold.retire": "Retired a gold item",
    "gold.restore": "Restored a gold item",
    "judging.decide": "Decided judged items",
    "judging.ask_limits": "Changed the maximum number of judges for undecided items",
    "judgments.import": "Imported judgments",
    "proposal.accepted": "Accepted a proposal",
    "proposal.dismissed": "Dismissed a proposal",
    "demographics.delete": "Deleted a worker’s demographics",
    "images.duplicates": "Marked near-duplicates",
    "images.duplicates_undone": "Undid a de-duplication",
    "images.keep_all": "Kept all photos of a group",
    "image.take_down": "Took a photo down",
    "image.put_back": "Put a photo back",
    "image.describe": "Changed a photo’s description",
    "comparison.build": "Built comparison sets",
    "evaluation.analyse_errors": "Analysed a model’s errors",
    "evaluation.request": "Started an evaluation",
    "comparison.leave_out": "Excluded a comparison set",
    "comparison.take_back": "Included a comparison set again",
    "version.create": "Created a draft version",
    "version.seal": "Sealed a version",
    "scorer.train": "Started training a scorer",
    "scorer.import": "Imported a scorer",
    "images.import_source": "Imported a collection",
    "images.import_zip": "Added the photos of a zip",
    "images.offer_again": "Offered a photo again",
    "proposals.request": "Requested box proposals",
    "clip.extract": "Extracted a clip’s frames",
    "clip.take_down": "Took a film clip down",
    "clip.put_back": "Put a film clip back",
    "names.set": "Changed the names that texts should not use",
    "objects.detect": "Requested a detection of objects",
    "objects.import": "Imported detected objects",
    "interest.train": "Started training a model of interest",
    "question_set.build": "Requested a question set",
    "question_set.audit": "Requested the audits of a question set",
    "question_set.waive": "Gave a reason for using a question set over a limit",
    "question_set.accept": "Accepted a question set",
    "question_set.reject": "Made a question set a draft again",
    "question_set.delete": "Deleted a question set",
    "choice_evaluation.request": "Started an evaluation of choices",
    "chooser.train": "Started training a chooser",
    "texts.analyse": "Analysed texts",
    "audit.create": "Started an audit",
    "leaderboard.create": "Created a leaderboard",
    "leaderboard.change": "Changed a leaderboard’s texts or limits",
    "leaderboard.open": "Opened a leaderboard",
    "leaderboard.close": "Closed a leaderboard",
    "leaderboard.publish": "Published a leaderboard",
    "leaderboard.withdraw": "Restricted a leaderboard to members",
    "leaderboard.team": "Added a team to a leaderboard",
    "leaderboard.renew_key": "Gave a team a new key",
    "leaderboard.activate_team": "Activated a team",
    "leaderboard.deactivate_team": "Deactivated a team",
    "leaderboard.hide_entry": "Hid a leaderboard entry",
    "leaderboard.withdraw_entry": "Withdrew a leaderboard entry",
    "leaderboard.show_entry": "Showed a leaderboard entry again",
    "audit.close": "Closed an audit",
    "scene.decide": "Decided about a scene",
    "scene.revise": "Revised a scene",
    "scene.import": "Imported scenes",
    "prompts.decide": "Decided about prompts",
    "images.generate": "Started drawing images",
    "images.import": "Imported generated images",
    "image.pick": "Picked an image",
    "image.release": "Looked at a flagged image",
    "run.cap": "Raised the cap of a run",
    "triplets.build": "Built triplets",
    "triplets.import": "Imported triplets",
    "triplets.evaluate": "Started an evaluation of triplets",
    "triplets.settings": "Changed the settings of triplets",
    "triplet.check": "Checked a triplet",
    "triplet.explain": "Explained a triplet",
    "triplet.decide": "Decided about a triplet",
    "reply.correct": "Read a model’s reply",
}
# Keys of an audit event's data that mislead or keep a retired word; all others are shown with spaces.
_DETAIL_LABELS = {
    "more_opinions": "additional workers",
    "more_seconds": "additional seconds",
    "most_cents": "maximum cents",
    "most_judges": "maximum judges",
    "ask_budget_cents": "follow-up budget, cents",
    "reasonable": "reasonable pairs",
}
_SUBJECT_URLS = {
    "batch": "batch-detail",
    "assignment": "assignment-detail",
    "payment": "assignment-detail",
    "applicant": "assignment-detail",
}


def register_waiting_counter(section: str, counter: WaitingCounter) -> None:
    """Register a counter of an app above for a navigation section or a tab below People."""
    if counter not in _counters.setdefault(section, []):
        _counters[section].append(counter)


def register_family_section(section: str, family: str) -> None:
    """Show a navigation section only in projects of a dataset family."""
    _section_families[section] = family


@register.filter
def audit_action_label(action: str) -> str:
    """Return the label of an audit action: ``batch.launch`` is “Launched a batch”."""
    return ACTION_LABELS.get(action) or action.replace(".", " ").replace("_", " ").capitalize()


@register.filter
def audit_data_label(key: str) -> str:
    """Return the label of a key of an audit event's data: ``fee_cents`` is “fee cents”."""
    return _DETAIL_LABELS.get(key) or key.replace("_", " ")


@register.filter
def or_dash(value: Any) -> Any:
    """Return a value, or a dash for ``None`` and the empty string; 0 stays 0."""
    return "–" if value is None or value == "" else value


@register.filter
def confidence_label(level: int) -> str:
    """Return the label of a confidence level, as on the task's page."""
    return Confidence(level).name.lower() if level in set(Confidence) else str(level)


@register.filter
def subject_url(event: AuditEvent) -> str:
    """Return the URL of an audit event's subject, or an empty string."""
    name = _SUBJECT_URLS.get(event.action.split(".")[0])
    return reverse(name, args=[event.subject]) if name and event.subject.isdigit() else ""


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return an icon of the sprite, hidden from assistive technology because a label follows it."""
    return format_html(
        '<svg aria-hidden="true"><use href="{}#i-{}"></use></svg>', static("img/icons.svg"), name
    )


@register.simple_tag
def badge(state: str, of: str = "") -> SafeString:
    """Return the badge of a state; ``of`` distinguishes equal states of different objects."""
    specific = _BADGES.get(f"{of}.{state}")
    tone, symbol, label = specific or _BADGES.get(str(state), ("", "", str(state).capitalize()))
    icon_html = icon(symbol) if symbol else ""
    return format_html(
        '<span class="badge{}">{}{}</span>', f" badge--{tone}" if tone else "", icon_html, label
    )


@register.inclusion_tag("hits/_nav.html", takes_context=True)
def project_nav(context: RequestContext) -> dict[str, Any]:
    """Return the navigation links of the installed sections, with their waiting counts."""
    project: Project = context["project"]
    links: list[dict[str, Any]] = []
    for section, title, name in _NAV:
        is_shown = _section_families.get(section, project.family) == project.family
        if is_shown and (url := _section_url_or_empty(name, project)):
            links.append({"section": section, "label": title, "url": url})
    if visitor_role(context["request"], project):
        for link in links:
            link["waiting"] = _count_waiting_items(str(link["section"]), project)
    return {"links": links, "section": context.get("section", "")}


def _section_url_or_empty(name: str, project: Project) -> str:
    try:
        return reverse(name, args=[project.slug])
    except NoReverseMatch:
        return ""  # the section's app is not installed


def _count_waiting_items(section: str, project: Project) -> int:
    return sum(counter(project) for counter in _counters.get(section, ()))


@register.simple_tag(takes_context=True)
def people_links(context: RequestContext) -> list[dict[str, Any]]:
    """Return the tabs below People that the user may see, with their waiting counts."""
    project: Project = context["project"]
    links = []
    for tab, title, name in _PEOPLE_TABS:
        if tab == "history" and not context.get("admin"):
            continue
        if url := _section_url_or_empty(name, project):
            links.append(
                {"tab": tab, "label": title, "url": url, "waiting": _count_waiting_items(tab, project)}
            )
    return links


register.simple_tag(page_url)
register.filter("key_label", evidence.humanize)
register.filter("speed_label", job_speed_label)


@register.inclusion_tag("hits/task/_no_worker.html")
def worker_process_banner() -> dict[str, Any]:
    """Warn if jobs are queued and no worker process has sent a heartbeat for a minute."""
    return {"waiting_jobs": count_unserved_jobs()}


@register.filter
def duration(seconds: float | None) -> str:
    """Return ``4 min 44 s``, ``45 s`` or ``2 h 5 min``; a dash without a time."""
    if seconds is None:
        return "–"
    whole = round(float(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest:02d} s" if rest else f"{minutes} min"


@register.filter
def ago(moment: datetime | None) -> str:
    """Return ``3 s ago``, ``12 min ago``, ``5 h ago`` or ``9 days ago``; ``never`` without a moment."""
    if moment is None:
        return "never"
    past = max(0, int((timezone.now() - moment).total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "h"), (60, "min")):
        if past >= size:
            count = past // size
            return f"{count} {unit}{'s' if unit == 'day' and count > 1 else ''} ago"
    return f"{past} s ago"


@register.filter
def until(moment: datetime | None) -> str:
    """Return ``in 2 d 4 h``, ``in 5 h 10 min`` or ``in 3 min``; ``any moment`` after that time."""
    if moment is None:
        return "never"
    left = int((moment - timezone.now()).total_seconds())
    if left < 60:  # noqa: PLR2004 - seconds
        return "any moment"
    days, hours, minutes = left // 86_400, left % 86_400 // 3_600, left % 3_600 // 60
    if days:
        return f"in {days} d {hours} h"
    return f"in {hours} h {minutes} min" if hours else f"in {minutes} min"


@register.filter
def utc_time(moment: datetime | None) -> str:
    """Return ``20 Nov 16:42`` (UTC), with the year if it is not the current one."""
    if moment is None:
        return "–"
    year = "" if moment.year == timezone.now().year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year} {moment:%H:%M}"
