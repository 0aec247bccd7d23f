"""The pages about judging lead to one another, and call the same thing by the same word."""

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
    "gold": "Gold units",
    "localization": "Localization",
    "planner": "Planner",
}


def tabs(text: str) -> str:
    """Return the tabs of a page."""
    found = re.search(r'<nav class="tabs" aria-label="About judging">.*?</nav>', text, re.DOTALL)
    assert found
    return found[0]


@pytest.mark.django_db
@pytest.mark.parametrize("name", PAGES)
def test_each_page_about_judging_leads_to_all_others_and_says_where_one_is(
    client: Client, project: Project, researcher: User, name: str
) -> None:
    client.force_login(researcher)
    found = tabs(client.get(reverse(name, args=[project.slug])).content.decode())
    assert re.findall(r'aria-current="page">([^<]+)<', found) == [PAGES[name]]
    for other, words in PAGES.items():
        assert re.search(rf'href="{reverse(other, args=[project.slug])}[^"]*"[^>]*>{words}<', found)


@pytest.mark.django_db
def test_the_kind_that_is_looked_at_stays_from_page_to_page(
    client: Client, project: Project, researcher: User
) -> None:
    client.force_login(researcher)
    address = reverse("judging-report", args=[project.slug])
    found = tabs(client.get(f"{address}?kind=likert_comparison").content.decode())
    for name in ("judging-report", "decisions", "gold"):
        assert f'{reverse(name, args=[project.slug])}?kind=likert_comparison"' in found
    # neither decisions nor gold know this kind
    found = tabs(client.get(f"{address}?kind=localization_match").content.decode())
    assert "localization_match" not in found


@pytest.mark.django_db
def test_decisions_and_gold_call_the_kinds_as_the_report_does(
    client: Client, project: Project, researcher: User
) -> None:
    client.force_login(researcher)
    for name in ("judging-report", "decisions", "gold"):
        text = client.get(reverse(name, args=[project.slug])).content.decode()
        assert ">Observation pairs<" in text
        assert ">Comparison sets<" in text


def test_every_question_that_is_decided_has_one_title() -> None:
    for kind in ("observation_review", "likert_comparison"):
        assert set(default_rules_of_kind(kind)) <= set(spec_of(kind).dimensions_by_name)
