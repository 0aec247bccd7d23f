"""The pages below Curation."""

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


@register.inclusion_tag("curation/_tabs.html")
def curation_tabs(project: Project, tab: str) -> dict[str, object]:
    """Show the pages below Curation, the open one marked."""
    links = []
    for name, words, address in _TABS:
        try:
            links.append({"tab": name, "words": words, "url": reverse(address, args=[project.slug])})
        except NoReverseMatch:
            continue
    return {"links": links, "tab": tab}
