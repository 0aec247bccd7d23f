"""The pages below Curation, and those below Scorers."""

from collections.abc import Iterable

from django import template
from django.urls import NoReverseMatch, reverse

from hits.models import Project

register = template.Library()

_TABS = (
    ("duplicates", "Duplicates", "curation"),
    ("sources", "Sources", "curation-sources"),
    ("leakage", "Splits", "curation-leakage"),
    ("features", "Features", "curation-features"),
    ("proposals", "Box proposals", "curation-proposals"),
    ("rounds", "Comparison sets", "curation-rounds"),
    ("texts", "Texts", "curation-texts"),
    ("audits", "Audits", "curation-audits"),
    ("jobs", "Jobs", "curation-jobs"),
)
_SCORING = (
    ("scorers", "Scorers", "scorers"),
    ("evaluations", "Evaluations", "evaluations"),
    ("ablations", "Ablations", "ablations"),
    ("leaderboards", "Leaderboards", "leaderboards"),
)


@register.inclusion_tag("curation/_tabs.html")
def curation_tabs(project: Project, tab: str) -> dict[str, object]:
    """Show the pages below Curation, the open one marked."""
    return {"links": _links(_TABS, project), "tab": tab, "of": "Curation"}


@register.inclusion_tag("curation/_tabs.html")
def scoring_tabs(project: Project, tab: str) -> dict[str, object]:
    """Show the pages below Scorers, the open one marked."""
    return {"links": _links(_SCORING, project), "tab": tab, "of": "Scorers"}


def _links(tabs: Iterable[tuple[str, str, str]], project: Project) -> list[dict[str, str]]:
    """The tabs whose pages exist."""
    links = []
    for name, words, address in tabs:
        try:
            links.append({"tab": name, "words": words, "url": reverse(address, args=[project.slug])})
        except NoReverseMatch:
            continue
    return links
