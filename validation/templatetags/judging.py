"""The pages about judging, as tabs on each of them."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.urls import reverse

from validation.registry import decidable_kinds
from validation.selectors.judging import has_pairs

register = template.Library()
# (words, name of the address, whether the page is about one kind at a time)
_TABS = (
    ("Rounds", "judging", False),
    ("Report", "judging-report", True),
    ("Decisions", "decisions", True),
    ("Gold units", "gold", True),
    ("Localization", "localization", False),
    ("Planner", "planner", False),
)
_PAIR_PAGES = {"localization", "planner"}  # about records of one type, which not every project has


@dataclass(frozen=True, slots=True)
class Tab:
    """One page about judging."""

    label: str
    url: str
    is_current: bool


@register.inclusion_tag("validation/judging/_judging_tabs.html", takes_context=True)
def judging_tabs(context: dict[str, Any]) -> dict[str, list[Tab]]:
    """Return the tabs of the pages about judging; the kind that is looked at stays the same from page to page."""
    project = context["project"]
    current = context["request"].resolver_match.url_name
    kind = context.get("kind")
    query = f"?kind={kind}" if kind in decidable_kinds() else ""
    hidden = set() if has_pairs(project) else _PAIR_PAGES - {current}
    return {
        "tabs": [
            Tab(label, reverse(name, args=[project.slug]) + (query if takes_kind else ""), name == current)
            for label, name, takes_kind in _TABS
            if name not in hidden
        ]
    }
