"""The tabs of the judging pages, and consistent titles of kinds and questions."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.models import Project
from validation.registry import spec_of
from validation.selectors.decisions import default_rules_of_kind

PAGES = {
    "judging": "Rounds",
    "judging-report": "Report",
    "decisions": "Decisions",
    "gold": "Gold items",
    "localization": "Localization",
    "planner": "Planner",
}


def tabs(text: str) -> str:
    """Return the tabs of a page."""
    found = re.search(r'<nav class="tabs" aria-label="Judging pages">.*?</nav>', text, re.DOTALL)
    assert found
    return found[0]


@pytest.mark.django_db
@pytest.mark.parametrize("name", PAGES)
def test_tabs_link_all_judging_pages_and_mark_the_current_one(
    client: Client, project: Project, researcher: User, name: str
) -> None:
    client.force_login(researcher)
    found = tabs(client.get(reverse(name, args=[project.slug])).content.decode())
    assert re.findall(r'aria-current="page">([^<]+)<', found) == [PAGES[name]]
    for other, label in PAGES.items():
        assert re.search(rf'href="{reverse(other, args=[project.slug])}[^"]*"[^>]*>{label}<', found)


@pytest.mark.django_db
def test_new_project_of_questions_has_their_tabs_and_launches_their_kind(
    client: Client, project: Project, researcher: User
) -> None:
    address = reverse("judging", args=[project.slug])
    client.force_login(researcher)
    assert re.findall(r">(Localization|Planner|Work review|Choice rounds)<", tabs(page(client, address))) == [
        "Localization",
        "Planner",
    ]
    Project.objects.filter(pk=project.pk).update(family="vcr")
    found = re.findall(r">(Localization|Planner|Work review|Choice rounds)<", tabs(page(client, address)))
    assert found == ["Work review", "Choice rounds"]
    launch = page(client, reverse("batch-new", args=[project.slug]))
    assert re.findall(r"kind=(vcr_qar|sherlock_observation)", launch)[0] == "vcr_qar"


def page(client: Client, address: str) -> str:
    return client.get(address).content.decode()


@pytest.mark.django_db
def test_tabs_keep_the_selected_kind(client: Client, project: Project, researcher: User) -> None:
    client.force_login(researcher)
    address = reverse("judging-report", args=[project.slug])
    found = tabs(client.get(f"{address}?kind=likert_comparison").content.decode())
    for name in ("judging-report", "decisions", "gold"):
        assert f'{reverse(name, args=[project.slug])}?kind=likert_comparison"' in found
    # neither decisions nor gold know this kind
    found = tabs(client.get(f"{address}?kind=localization_match").content.decode())
    assert "localization_match" not in found


@pytest.mark.django_db
def test_kind_titles_are_the_same_on_report_decisions_and_gold(
    client: Client, project: Project, researcher: User
) -> None:
    client.force_login(researcher)
    for name in ("judging-report", "decisions", "gold"):
        text = client.get(reverse(name, args=[project.slug])).content.decode()
        assert ">Observation pairs<" in text
        assert ">Comparison sets<" in text


def test_every_decided_question_is_a_dimension() -> None:
    for kind in ("observation_review", "likert_comparison"):
        assert set(default_rules_of_kind(kind)) <= set(spec_of(kind).dimensions_by_name)
