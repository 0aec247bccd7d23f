"""Tabs of the judging pages."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.urls import reverse

from hits.navigation import page_url
from validation.registry import decidable_kinds
from validation.selectors.judging import has_or_may_collect_pairs
from validation.selectors.work_reviews import collects_reviewable_work

register = template.Library()
# (label, URL name, whether the page shows one kind at a time)
_TABS = (
    ("Rounds", "judging", False),
    ("Report", "judging-report", True),
    ("Decisions", "decisions", True),
    ("Gold items", "gold", True),
    ("Localization", "localization", False),
    ("Work review", "work-review", False),
    ("Planner", "planner", False),
)
_UPPER_TAB = (
    "Choice rounds",
    "choice_rounds",
    "choice-rounds",
)  # of an app above this one, which registers it
_PAIR_PAGES = {"localization", "planner"}  # only for projects with pairs
_TRIPLET_PAGES = {"work-review", _UPPER_TAB[2]}  # only for projects whose submissions can be reviewed


@dataclass(frozen=True, slots=True)
class Tab:
    """The tab of one judging page."""

    label: str
    url: str
    is_current: bool


@register.inclusion_tag("validation/judging/_judging_tabs.html", takes_context=True)
def judging_tabs(context: dict[str, Any]) -> dict[str, list[Tab]]:
    """Return the tabs of the judging pages; links keep the selected kind."""
    project = context["project"]
    current = context["request"].resolver_match.url_name
    kind = context.get("kind")
    query = f"?kind={kind}" if kind in decidable_kinds() else ""
    hidden = set() if has_or_may_collect_pairs(project) else _PAIR_PAGES - {current}
    hidden |= set() if collects_reviewable_work(project) else _TRIPLET_PAGES - {current}
    shown = [
        Tab(label, reverse(name, args=[project.slug]) + (query if takes_kind else ""), name == current)
        for label, name, takes_kind in _TABS
        if name not in hidden
    ]
    label, page, name = _UPPER_TAB
    url = page_url(page, project.slug)
    return {"tabs": [*shown, Tab(label, url, name == current)] if url and name not in hidden else shown}
