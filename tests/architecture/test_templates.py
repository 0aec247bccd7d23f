"""Templates and styles can be read in a diff, and know no app above their own."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

MAX_LINE = 160
APPS = ("hits", "validation", "curation", "curation.leaderboard")  # each may know those before it
_URL = re.compile(r"{%\s*url\s+['\"]([\w-]+)['\"]")
_TEMPLATE = re.compile(r"{%\s*(?:include|extends)\s+['\"]([\w-]+)/")
# A sentence of the catalogue stands in one tag, which cannot be broken.
_CATALOGUE = re.compile(r"{% translate \"[^\"]*\" %}|{% blocktranslate.*?{% endblocktranslate %}")
_FOLDERS = {
    "hits": "hits",
    "validation": "validation",
    "curation": "curation",
    "leaderboard": "curation.leaderboard",
}


def test_lines_of_templates_and_styles_are_short(root: Path, repository_files: list[Path]) -> None:
    too_long = [
        f"{path.relative_to(root)}:{number}: {len(line)} characters"
        for path in repository_files
        if path.suffix in {".html", ".css"} and "cases" not in path.parts
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if len(_CATALOGUE.sub("", line)) > MAX_LINE
    ]
    assert not too_long, f"more than {MAX_LINE} characters: wrap them\n" + "\n".join(too_long)


def views_by_name(patterns: list[URLPattern | URLResolver]) -> Iterator[tuple[str, str]]:
    """Yield the name of every address, and the module of its view."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from views_by_name(pattern.url_patterns)
        elif pattern.name:
            view = getattr(pattern.callback, "view_class", pattern.callback)
            yield pattern.name, view.__module__


def app_of(module: str) -> str:
    """Return the app of a module or of a template's folder; the longest name wins."""
    found = [app for app in APPS if f"{module}.".startswith(f"{app}.")]
    return found[-1] if found else ""


def upward_references(owner: str, source: str, views: dict[str, str]) -> list[str]:
    """Return the addresses and templates of upper apps that a template of ``owner`` names."""
    above = set(APPS[APPS.index(owner) + 1 :])
    urls = [name for name in _URL.findall(source) if app_of(views.get(name, "")) in above]
    templates = [folder for folder in _TEMPLATE.findall(source) if _FOLDERS.get(folder) in above]
    return urls + templates


def test_templates_name_no_page_of_an_upper_app(root: Path, repository_files: list[Path]) -> None:
    views = dict(views_by_name(get_resolver().url_patterns))
    found = [
        f"{path.relative_to(root)}: {name}"
        for path in repository_files
        if path.suffix == ".html" and "templates" in path.parts
        for owner in [app_of(".".join(path.relative_to(root).parts[:2]).replace(".templates", ""))]
        if owner and "marketplace" not in path.parts
        for name in upward_references(owner, path.read_text("utf-8"), views)
    ]
    assert not found, "a page of an app above: register it in hits.navigation\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("owner", "source", "found"),
    [
        ("hits", "{% url 'versions' project.slug %}", ["versions"]),
        ("hits", '{% include "curation/x.html" %}', ["curation"]),
        ("validation", "{% url 'versions' project.slug %}{% url 'projects' %}", ["versions"]),
        ("curation.leaderboard", "{% url 'versions' project.slug %}", []),
    ],
)
def test_an_upward_reference_is_found(owner: str, source: str, found: list[str]) -> None:
    views = dict(views_by_name(get_resolver().url_patterns))
    assert upward_references(owner, source, views) == found
