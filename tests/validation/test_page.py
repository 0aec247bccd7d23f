"""The judging page. Its permissions stand in tests/curation_site/test_pages.py."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.models import Batch, Hit, Project
from tests.support import market
from tests.support.pages import squeezed
from tests.validation.factory import Work, ratings, review
from validation.services.judging import CandidateToRate, SetToJudge, launch_comparison, launch_review

pytestmark = pytest.mark.django_db


def test_tallies_read_as_the_paper_s_sentence(client: Client, work: Work, researcher: User) -> None:
    pairs = work.observed(work.image(), worker="AUTHOR")
    batch, _ = launch_review(project=work.project, observations=pairs, by=None)
    work.publish(batch)
    hits = list(Hit.objects.filter(unit__batch=batch))
    work.answered(hits[0], "J1", review("highly", "appropriate", "caption_like"))
    work.answered(hits[1], "J1", review("un", "appropriate", "very"))
    client.force_login(researcher)
    page = client.get(reverse("judging", args=[work.project.slug])).content.decode()
    assert "50.0% of the observation pairs are acceptable, with 100.0% accurate box placement;" in page
    assert "50.0% of the inferences are found to be interesting" in page
    assert "n = 2 pairs, 2 judgments" in page
    assert "1 caption-like" in page


def test_an_empty_page_says_what_will_appear(client: Client, work: Work, researcher: User) -> None:
    client.force_login(researcher)
    page = client.get(reverse("judging", args=[work.project.slug])).content.decode()
    assert "No pair waits for judges" in page
    assert "Nothing has been judged yet" in page


def test_a_round_is_launched_in_two_steps(client: Client, work: Work, researcher: User) -> None:
    market.fund()
    work.observed(work.image(), count=4)
    client.force_login(researcher)
    url = reverse("judging", args=[work.project.slug])
    values = {"name": "First look", "reward": "0.40", "assignments": "3", "units": "2"}
    asked = client.post(url, values | {"step": "estimate"})
    assert "Launch 2 tasks, hold $2.40" in asked.content.decode()
    assert not Batch.objects.filter(kind="observation_review").exists()
    assert client.post(url, values | {"step": "launch"}).status_code == 302
    batch = Batch.objects.get(kind="observation_review")
    assert (batch.name, batch.units.count(), batch.opinions) == ("First look", 2, 3)
    page = client.get(url).content.decode()
    assert "2 approved pairs without one" in page


def test_pressing_launch_twice_launches_once(client: Client, work: Work, researcher: User) -> None:
    market.fund()
    work.observed(work.image(), count=4)
    client.force_login(researcher)
    url = reverse("judging", args=[work.project.slug])
    values = {"name": "", "reward": "0.40", "assignments": "3", "units": "2", "step": "estimate"}
    values |= {"step": "launch", "launch_key": client.post(url, values).context["launch_key"]}
    for _ in range(2):
        assert client.post(url, values).status_code == 302
    assert Batch.objects.get(kind="observation_review").units.count() == 2


def test_a_refused_round_says_why_and_keeps_what_was_typed(
    client: Client, work: Work, researcher: User
) -> None:
    market.fund(239)
    work.observed(work.image(), count=4)
    client.force_login(researcher)
    url = reverse("judging", args=[work.project.slug])
    values = {"name": "First look", "reward": "0.40", "assignments": "3", "units": "2"}
    short = client.post(url, values | {"step": "launch"})
    page = squeezed(short)
    assert short.status_code == 400
    assert "Not launched: insufficient funds: $2.40 will be held and the account has $2.39" in page
    assert 'value="launch"' not in page
    for name, value in values.items():
        assert f'name="{name}" value="{value}"' in page
    assert squeezed(client.post(url, values | {"step": "change"})).count('value="First look"') == 1

    market.fund(1)
    Project.objects.update(confirm_above_cents=239)
    page = squeezed(client.post(url, values | {"step": "launch", "typed_cost": "2.39"}))
    assert "$2.39 is another sum; type the most that this can cost, 2.40." in page
    assert 'value="2.39" aria-invalid="true"' in page
    assert 'name="name" value="First look"' in page
    assert 'value="change" formnovalidate' in page, "nobody has to type the sum to go back"
    assert not Batch.objects.filter(kind="observation_review").exists()
    assert client.post(url, values | {"step": "launch", "typed_cost": "2.40"}).status_code == 302


def test_bad_terms_are_named_at_their_field(client: Client, work: Work, researcher: User) -> None:
    work.observed(work.image())
    client.force_login(researcher)
    reply = client.post(
        reverse("judging", args=[work.project.slug]),
        {"reward": "free", "assignments": "101", "units": "4", "step": "launch"},
    )
    page = reply.content.decode()
    assert reply.status_code == 400
    for text in ("Use whole cents", "There are 3; use that or fewer.", "less than or equal to 100"):
        assert text in page
    assert not Batch.objects.filter(kind="observation_review").exists()


def test_ratings_stand_beside_their_candidates(client: Client, work: Work, researcher: User) -> None:
    mine = work.observed(work.image(1), worker="AUTHOR")
    others = work.observed(work.image(2), worker="OTHER")
    wanted = SetToJudge(
        id="1",
        gold=mine[0].instance_id,
        image_id=mine[0].image_id,
        boxes=mine[0].boxes,
        candidates=[CandidateToRate(o.instance_id, o.inference) for o in others],
    )
    batch, _ = launch_comparison(project=work.project, sets=[wanted], by=None)
    work.publish(batch)
    hit = Hit.objects.get(unit__batch=batch)
    work.answered(hit, "J1", ratings(hit, 1, 2, 3))
    work.answered(hit, "J2", ratings(hit, 3, 2, 3))
    client.force_login(researcher)
    page = squeezed(client.get(reverse("judging", args=[work.project.slug])))
    assert "2 of 2 judges" in page
    assert '<td class="n">1, 3</td><td class="n">2.00</td>' in page
