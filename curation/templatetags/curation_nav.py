"""Tab navigation of Curation and of Scorers."""

from collections.abc import Iterable

from django import template
from django.urls import NoReverseMatch, reverse

from hits.models import Project

register = template.Library()

_CURATION_TABS = (
    ("duplicates", "Duplicates", "curation"),
    ("sources", "Sources", "curation-sources"),
    ("leakage", "Splits", "curation-leakage"),
    ("features", "Features", "curation-features"),
    ("objects", "Objects", "object-runs"),
    ("interest", "Interesting", "interest"),
    ("proposals", "Box proposals", "curation-proposals"),
    ("rounds", "Comparison sets", "curation-rounds"),
    ("questions", "Question sets", "question-sets"),
    ("texts", "Texts", "curation-texts"),
    ("audits", "Audits", "curation-audits"),
    ("jobs", "Jobs", "curation-jobs"),
)
_SCORING_TABS = (
    ("scorers", "Scorers", "scorers"),
    ("evaluations", "Evaluations", "evaluations"),
    ("choices", "Multiple choice", "choice-evaluations"),
    ("ablations", "Ablations", "ablations"),
    ("leaderboards", "Leaderboards", "leaderboards"),
)
_TRIPLET_TABS = (
    ("scenes", "Scenes", "scenes"),
    ("prompts", "Prompts", "scene-prompts"),
    ("images", "Images", "scene-image-list"),
    ("triplets", "Triplets", "image-triplets"),
    ("explanations", "Explanations", "triplet-explanations"),
    ("evaluations", "Evaluations", "triplet-evaluations"),
    ("audits", "Audits", "triplet-audits"),
    ("settings", "Settings", "triplet-settings"),
)


@register.inclusion_tag("curation/_tabs.html")
def triplet_tabs(project: Project, tab: str) -> dict[str, object]:
    """Render the tabs of Triplets, with the current one marked."""
    return {"links": _existing_tab_links(_TRIPLET_TABS, project), "tab": tab, "title": "Triplets"}


@register.inclusion_tag("curation/_tabs.html")
def curation_tabs(project: Project, tab: str) -> dict[str, object]:
    """Render the tabs of Curation, with the current one marked."""
    return {"links": _existing_tab_links(_CURATION_TABS, project), "tab": tab, "title": "Curation"}


@register.inclusion_tag("curation/_tabs.html")
def scoring_tabs(project: Project, tab: str) -> dict[str, object]:
    """Render the tabs of Scorers, with the current one marked."""
    return {"links": _existing_tab_links(_SCORING_TABS, project), "tab": tab, "title": "Scorers"}


def _existing_tab_links(tabs: Iterable[tuple[str, str, str]], project: Project) -> list[dict[str, str]]:
    """Return the tabs whose pages exist."""
    links = []
    for name, label, address in tabs:
        try:
            links.append({"tab": name, "label": label, "url": reverse(address, args=[project.slug])})
        except NoReverseMatch:
            continue
    return links
