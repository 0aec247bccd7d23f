"""The pages about judging, as tabs on each of them."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.urls import reverse

from validation.registry import decided
from validation.selectors.judging import has_pairs

register = template.Library()
# (words, name of the address, whether the page is about one kind at a time)
_PAGES = (
    ("Rounds", "judging", False),
    ("Report", "judging-report", True),
    ("Decisions", "decisions", True),
    ("Gold units", "gold", True),
    ("Localization", "localization", False),
    ("Planner", "planner", False),
)
_OF_PAIRS = {"localization", "planner"}  # about records of one type, which not every project has


@dataclass(frozen=True, slots=True)
class Tab:
    """One page about judging."""

    words: str
    url: str
    is_here: bool


@register.inclusion_tag("validation/judging/_judging_tabs.html", takes_context=True)
def judging_tabs(context: dict[str, Any]) -> dict[str, list[Tab]]:
    """Return the tabs of the pages about judging; the kind that is looked at stays the same from page to page."""
    project = context["project"]
    here = context["request"].resolver_match.url_name
    kind = context.get("kind")
    query = f"?kind={kind}" if kind in decided() else ""
    left_out = set() if has_pairs(project) else _OF_PAIRS - {here}
    return {
        "tabs": [
            Tab(words, reverse(name, args=[project.slug]) + (query if of_a_kind else ""), name == here)
            for words, name, of_a_kind in _PAGES
            if name not in left_out
        ]
    }
