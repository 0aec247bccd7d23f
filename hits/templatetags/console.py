"""Parts that every console page shows, and how times and states are written."""

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
from hits.models import AuditEvent, Job, Project
from hits.observing.pairs import Confidence
from hits.selectors.console import idle_queue, waiting_in
from hits.selectors.jobs import speed_of
from hits.selectors.roles import role_of_visitor

register = template.Library()

# Section, words, and the name of the address; the last five belong to apps above this one.
_NAV = (
    ("batches", "Batches", "project-batches"),
    ("images", "Photos", "project-images"),
    ("instructions", "Instructions", "project-instructions"),
    ("review", "Review", "project-review"),
    ("pay", "Pay", "project-pay"),
    ("judging", "Judging", "judging"),
    ("curation", "Curation", "curation"),
    ("versions", "Versions", "versions"),
    ("scorers", "Scorers", "scorers"),
    ("people", "People", "workers"),
)
# The same below People; the address may belong to an app above, and admins alone see the last.
_PEOPLE = (
    ("workers", "Workers", "workers"),
    ("applicants", "Applicants", "applicants"),
    ("training", "Training", "training-desk"),
    ("members", "Members", "project-people"),
    ("consent", "Consent text", "project-consent"),
    ("rules", "Standing rules", "standing-rules"),
    ("history", "History", "project-history"),
)
Counter = Callable[[Project], int]
_counters: dict[str, list[Counter]] = {"review": [waiting_in]}
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
    "failed": ("bad", "alert", "Stopped with an error"),
    "cancelled": ("", "x", "Cancelled"),
    "job.done": ("ok", "ok", "Done"),
    "applicant.waiting": ("info", "clock", "Waits for grades"),
    "applicant.unexplained": ("warn", "alert", "Needs a reason"),
    "applicant.ready": ("info", "eye", "Graded"),
    "applicant.passed": ("ok", "ok", "Passed"),
    "applicant.declined": ("", "x", "Not passed"),
}
_ACTIONS = {
    "project.create": "Made the project",
    "member.role": "Gave a role",
    "consent.publish": "Published a consent text",
    "batch.launch": "Launched a batch",
    "project.family": "Changed the dataset family",
    "batch.close": "Stopped offering a batch",
    "batch.cap": "Changed a batch’s budget cap",
    "project.money": "Changed target, cap or threshold",
    "batch.top_up": "Topped up a batch’s pay",
    "batch.instructions": "Chose a batch’s instructions",
    "instructions.publish": "Published instructions",
    "assignment.approve": "Approved a submission",
    "assignment.reject": "Rejected a submission",
    "payment.retry": "Repeated a refused payment",
    "reconcile.approve": "Approved work that does not match",
    "reconcile.reject": "Rejected work that does not match",
    "reconcile.keep": "Left work that does not match",
    "reconcile.compensate": "Compensated work that did not get through",
    "reconcile.begin_anew": "Published a lost task again",
    "reconcile.give_up": "Gave a lost task up",
    "reconcile.expire_surplus": "Stopped offering an unknown task",
    "reconcile.book_bonus": "Booked a bonus that a script sent",
    "applicant.pass": "Passed an applicant",
    "applicant.decline": "Declined an applicant",
    "worker.grant": "Granted a qualification",
    "worker.revoke": "Took a qualification back",
    "worker.block": "Blocked a worker",
    "worker.unblock": "Lifted a block",
    "standing.paused": "Paused a worker",
    "standing.dequalified": "De-qualified a worker",
    "feedback.write": "Answered a training attempt",
    "rule.save": "Saved a standing rule",
    "gold.add": "Made an item gold",
    "gold.change": "Changed a gold unit",
    "gold.retire": "Retired a gold unit",
    "gold.restore": "Used a gold unit again",
    "judging.decide": "Decided judged items",
    "judging.ask_limits": "Changed how many judges an undecided item may have",
    "judgments.import": "Imported judgments",
    "proposal.accepted": "Accepted a proposal",
    "proposal.dismissed": "Dismissed a proposal",
    "demographics.delete": "Deleted what a worker said about themselves",
    "images.duplicates": "Marked near-duplicates",
    "images.duplicates_undone": "Undid a de-duplication",
    "images.keep_all": "Kept all photos of a group",
    "image.take_down": "Took a photo down",
    "image.put_back": "Put a photo back",
    "image.describe": "Changed a photo’s description",
    "comparison.build": "Built comparison sets",
    "evaluation.analyse_errors": "Analysed a model’s errors",
    "evaluation.request": "Asked for an evaluation",
    "comparison.leave_out": "Left a comparison set out",
    "comparison.take_back": "Took a comparison set back",
    "version.create": "Made a draft version",
    "version.seal": "Sealed a version",
    "scorer.train": "Asked for a scorer’s training",
    "scorer.import": "Took a scorer in",
    "images.import_source": "Imported a collection",
    "images.import_zip": "Added the photos of a zip",
    "images.offer_again": "Offered a photo again",
    "proposals.request": "Asked for box proposals",
    "texts.analyse": "Analysed texts",
    "audit.create": "Began an audit",
    "leaderboard.create": "Made a leaderboard",
    "leaderboard.change": "Changed a leaderboard’s words or limits",
    "leaderboard.open": "Opened a leaderboard",
    "leaderboard.close": "Closed a leaderboard",
    "leaderboard.publish": "Published a leaderboard",
    "leaderboard.withdraw": "Showed a leaderboard to members alone",
    "leaderboard.team": "Added a team to a leaderboard",
    "leaderboard.renew_key": "Gave a team a new key",
    "leaderboard.activate_team": "Let a team hand in again",
    "leaderboard.deactivate_team": "Let a team hand in no more",
    "leaderboard.hide_entry": "Took an entry out of a leaderboard",
    "leaderboard.show_entry": "Put an entry back into a leaderboard",
    "audit.close": "Closed an audit",
}
_SUBJECTS = {
    "batch": "batch-detail",
    "assignment": "assignment-detail",
    "payment": "assignment-detail",
    "applicant": "assignment-detail",
}


def count_waiting(section: str, counter: Counter) -> None:
    """Let an app above add what waits for a person to a section of the navigation or a tab below People."""
    if counter not in _counters.setdefault(section, []):
        _counters[section].append(counter)


@register.filter
def done(action: str) -> str:
    """Return an audit event's action as a sentence: ``batch.launch`` is “Launched a batch”."""
    return _ACTIONS.get(action) or action.replace(".", " ").replace("_", " ").capitalize()


@register.filter
def words(name: str) -> str:
    """Return a name from data as people read it: ``min_candidates`` is “Min candidates”."""
    return evidence.words(name)


@register.filter
def shown(value: Any) -> Any:
    """Return a value of data, or a dash where there is none; 0 is a value."""
    return "–" if value is None or value == "" else value


@register.filter
def confidence(level: int) -> str:
    """Return how sure an author was, as the task's page words it."""
    return Confidence(level).name.lower() if level in set(Confidence) else str(level)


@register.filter
def subject_url(event: AuditEvent) -> str:
    """Return the address of what an audit event is about, or nothing."""
    name = _SUBJECTS.get(event.action.split(".")[0])
    return reverse(name, args=[event.subject]) if name and event.subject.isdigit() else ""


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return a symbol of the sprite, hidden from assistive technology: the words stand beside it."""
    return format_html(
        '<svg aria-hidden="true"><use href="{}#i-{}"></use></svg>', static("img/icons.svg"), name
    )


@register.simple_tag
def badge(state: str, of: str = "") -> SafeString:
    """Return the sign and word of a state; ``of`` tells apart what the same word means elsewhere."""
    own = _BADGES.get(f"{of}.{state}")
    tone, symbol, word = own or _BADGES.get(str(state), ("", "", str(state).capitalize()))
    sign = icon(symbol) if symbol else ""
    return format_html('<span class="badge{}">{}{}</span>', f" badge--{tone}" if tone else "", sign, word)


@register.inclusion_tag("hits/_nav.html", takes_context=True)
def project_nav(context: RequestContext) -> dict[str, Any]:
    """Return the project's sections that exist and that this person may see."""
    project: Project = context["project"]
    links: list[dict[str, Any]] = []
    for section, title, name in _NAV:
        try:
            url = reverse(name, args=[project.slug])
        except NoReverseMatch:
            continue  # the app that brings this section is not installed
        links.append({"section": section, "words": title, "url": url})
    if role_of_visitor(context["request"], project):
        for link in links:
            link["waiting"] = _waiting(str(link["section"]), project)
    return {"links": links, "section": context.get("section", "")}


def _waiting(section: str, project: Project) -> int:
    return sum(counter(project) for counter in _counters.get(section, ()))


@register.simple_tag(takes_context=True)
def people_links(context: RequestContext) -> list[dict[str, Any]]:
    """Return the pages about people that exist and that this person may see, each with what waits there."""
    project: Project = context["project"]
    links = []
    for tab, title, name in _PEOPLE:
        if tab == "history" and not context.get("admin"):
            continue
        try:
            url = reverse(name, args=[project.slug])
        except NoReverseMatch:
            continue
        links.append({"tab": tab, "words": title, "url": url, "waiting": _waiting(tab, project)})
    return links


@register.inclusion_tag("hits/task/_no_worker.html")
def worker_banner() -> dict[str, Any]:
    """Say so when work is queued and nothing that does it has been heard of for a minute."""
    return {"idle": idle_queue()}


@register.filter
def seconds(value: float | None) -> str:
    """Return ``4 min 44 s``, ``45 s`` or ``2 h 5 min``; a dash when there is no time."""
    if value is None:
        return "–"
    whole = round(float(value))
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
def speed(job: Job) -> str:
    """Return how fast a job goes and how long it still takes."""
    return speed_of(job)


@register.filter
def until(moment: datetime | None) -> str:
    """Return ``in 2 d 4 h``, ``in 5 h 10 min`` or ``in 3 min``; ``any moment`` when the time is over."""
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
def when(moment: datetime | None) -> str:
    """Return ``20 Nov 16:42`` (UTC), with the year when it is not this one."""
    if moment is None:
        return "–"
    year = "" if moment.year == timezone.now().year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year} {moment:%H:%M}"
