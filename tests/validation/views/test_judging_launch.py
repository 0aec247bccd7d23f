"""Launching a review round from its page: selection of pairs, eligibility, cost, and stored values."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.models import Batch, Project
from tests.support import market
from tests.support.judging.applicants import qualification
from tests.support.judging.work import Work
from tests.support.pages import squeezed
from validation.models import JudgingRound
from validation.services.judging import launch_review
from validation.services.quality_checks import add_gold_item

pytestmark = pytest.mark.django_db
VALUES = {
    "name": "First look",
    "reward": "0.40",
    "assignments": "3",
    "how": "sample",
    "n": "2",
    "seed": "7",
    "strata": "worker",
    "allotment": "proportional",
}


@pytest.fixture
def url(work: Work, client: Client, researcher: User) -> str:
    client.force_login(researcher)
    return reverse("review-new", args=[work.project.slug])


def plain(reply: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", squeezed(reply)).split())


def units() -> set[str]:
    return set(Batch.objects.get(kind="observation_review").units.values_list("key", flat=True))


def test_sample_is_launched_in_two_steps_with_its_seed(client: Client, work: Work, url: str) -> None:
    market.fund()
    work.observed(work.image(), count=4)
    asked = client.post(url, VALUES | {"step": "estimate"})
    text = plain(asked)
    assert "Launch 2 tasks, hold $2.40" in text
    assert "Pairs 2 of 4 not yet sent to judges, by 1 author" in text
    assert "Random sample of 2, seed 7" in text
    assert "Open to All workers" in text
    assert not Batch.objects.filter(kind="observation_review").exists()
    assert client.post(url, VALUES | {"step": "launch", "found": "2"}).status_code == 302
    batch = Batch.objects.get(kind="observation_review")
    assert (batch.name, batch.units.count(), batch.redundancy) == ("First look", 2, 3)
    stored = JudgingRound.objects.get(batch=batch)
    assert stored.selection["how"] == "sample"
    assert (stored.selection["n"], stored.selection["seed"]) == (2, 7)
    assert set(stored.rules) == {"reasonable", "boxes", "interesting"}


def test_same_seed_selects_same_pairs(client: Client, work: Work, url: str) -> None:
    market.fund()
    for seed in range(4):
        work.observed(work.image(seed), worker=f"W{seed}")
    client.post(url, VALUES | {"n": "5", "step": "launch"})
    first = units()
    Batch.objects.get(kind="observation_review")
    again = VALUES | {"n": "5", "again": "on", "step": "estimate"}
    found = client.post(url, again).context["found"]
    assert {pair.id for pair in found.pairs} == first


def test_pairs_of_selected_authors_are_launched(client: Client, work: Work, url: str) -> None:
    market.fund()
    mine = work.observed(work.image(1), worker="ONE")
    work.observed(work.image(2), worker="TWO")
    author = mine[0].submission.attempt.worker_id
    page = plain(client.get(url))
    assert f"W-{author} 3 of 3" in page
    refused = client.post(url, VALUES | {"how": "workers", "step": "estimate"})
    assert refused.status_code == 400
    assert "Name at least one worker." in plain(refused)
    reply = client.post(url, VALUES | {"how": "workers", "workers": [str(author)], "step": "launch"})
    assert reply.status_code == 302
    assert units() == {pair.instance_id for pair in mine}
    assert JudgingRound.objects.get().selection["workers"] == [author]


def test_strata_are_shown_with_available_pairs(client: Client, work: Work, url: str) -> None:
    market.fund()
    work.observed(work.image(1), worker="ONE", count=5)
    work.observed(work.image(2), worker="TWO", count=3)
    values = VALUES | {"how": "stratified", "strata": "confidence", "allotment": "equal", "n": "1"}
    text = plain(client.post(url, values | {"step": "estimate"}))
    assert "1 from each confidence, seed 7" in text
    strata = client.post(url, values | {"step": "estimate"}).context["found"].strata
    assert all(chosen == 1 for _, chosen, _ in strata)
    assert sum(of for _, _, of in strata) == 8


def test_launched_pairs_are_left_out_by_default(client: Client, work: Work, url: str) -> None:
    market.fund()
    work.observed(work.image(), count=4)
    client.post(url, VALUES | {"step": "launch"})
    everything = VALUES | {"how": "all", "step": "estimate"}
    assert len(client.post(url, everything).context["found"].pairs) == 2
    assert len(client.post(url, everything | {"again": "on"}).context["found"].pairs) == 4
    client.post(url, VALUES | {"how": "all", "step": "launch"})
    none_left = client.post(url, everything)
    assert none_left.status_code == 400
    assert "No pair matches this selection." in plain(none_left)


def test_judges_are_qualified_workers_if_the_project_has_qualification(
    client: Client, work: Work, url: str
) -> None:
    market.fund()
    work.observed(work.image(), count=3)
    page = client.get(url)
    assert page.context["form"]["pool"].value() == ""
    qualification(work.project, [work.image(n) for n in range(3)], 5)
    page = client.get(url)
    assert page.context["form"]["pool"].value() == "qualified"
    text = plain(client.post(url, VALUES | {"pool": "qualified", "step": "estimate"}))
    assert "Open to Qualified workers 0 now" in text
    assert "0 workers can judge now; each pair needs 3 besides its author." in text
    client.post(url, VALUES | {"pool": "qualified", "step": "launch"})
    batch = Batch.objects.get(kind="observation_review")
    assert ("qualified", "Exists") in batch.requirements.values_list("qualification__slug", "comparator")


def test_repeated_launch_request_launches_once(client: Client, work: Work, url: str) -> None:
    market.fund()
    work.observed(work.image(), count=4)
    key = client.post(url, VALUES | {"step": "estimate"}).context["idempotency_key"]
    for _ in range(2):
        assert client.post(url, VALUES | {"step": "launch", "idempotency_key": key}).status_code == 302
    assert len(units()) == 2


def test_selection_with_changed_result_is_not_launched(client: Client, work: Work, url: str) -> None:
    market.fund()
    work.observed(work.image(), count=4)
    reply = client.post(url, VALUES | {"how": "all", "found": "3", "step": "launch"})
    assert reply.status_code == 400
    assert "the selection finds 4 pairs now and found 3 before" in plain(reply)
    assert not Batch.objects.filter(kind="observation_review").exists()


def test_refused_round_shows_reason_and_keeps_input(client: Client, work: Work, url: str) -> None:
    market.fund(239)
    work.observed(work.image(), count=4)
    short = client.post(url, VALUES | {"step": "launch"})
    page = squeezed(short)
    assert short.status_code == 400
    assert "Not launched: insufficient funds: $2.40 will be held, but the account has only $2.39" in page
    assert 'value="launch"' not in page
    for name, value in VALUES.items():
        assert f'name="{name}" value="{value}"' in page
    assert squeezed(client.post(url, VALUES | {"step": "change"})).count('value="First look"') == 1

    market.fund(1)
    Project.objects.update(confirm_above_cents=239)
    page = squeezed(client.post(url, VALUES | {"step": "launch", "typed_cost": "2.39"}))
    assert "$2.39 is another sum; type the maximum cost, 2.40." in page
    assert 'value="2.39" aria-invalid="true"' in page
    assert 'name="name" value="First look"' in page
    assert 'value="change" formnovalidate' in page, "going back needs no typed sum"
    assert not Batch.objects.filter(kind="observation_review").exists()
    assert client.post(url, VALUES | {"step": "launch", "typed_cost": "2.40"}).status_code == 302


def test_too_few_gold_items_are_reported_before_the_cost(client: Client, work: Work, url: str) -> None:
    rows = work.observed(work.image(), count=5)
    batch, _ = launch_review(project=work.project, observations=rows[:1], by=None)
    add_gold_item(unit=batch.units.get(), expected={"reasonable": ["un"]}, by=None)
    values = VALUES | {"how": "all", "step": "estimate"}
    reply = client.post(url, values | {"again": "on", "gold": "50"})
    assert reply.status_code == 400
    assert "This needs 3 gold items; 1 is in use, and a round uses each at most twice." in plain(reply)
    assert client.post(url, values | {"again": "on", "gold": "40"}).status_code == 200


def test_invalid_terms_are_named_at_their_field(client: Client, work: Work, url: str) -> None:
    work.observed(work.image())
    invalid = {"reward": "free", "assignments": "101", "n": "0", "gold": "5", "attention": "51"}
    reply = client.post(url, VALUES | invalid | {"step": "launch"})
    page = plain(reply)
    assert reply.status_code == 400
    for text in (
        "at most two decimals",
        "less than or equal to 100",
        "greater than or equal to 1",
        "No gold item is in use",
        "less than or equal to 50",
    ):
        assert text in page
    assert not Batch.objects.filter(kind="observation_review").exists()


def test_follow_up_needs_higher_redundancy_and_a_budget(client: Client, work: Work, url: str) -> None:
    market.fund()
    work.observed(work.image())
    page = plain(client.post(url, VALUES | {"max_redundancy": "3", "step": "estimate"}))
    assert "Each pair gets 3 workers anyway" in page
    assert "Enter the budget of the follow-ups." in page
    reply = client.post(url, VALUES | {"max_redundancy": "5", "ask_budget": "12.50", "step": "launch"})
    assert reply.status_code == 302
    stored = JudgingRound.objects.get()
    assert (stored.max_redundancy, stored.ask_budget_cents) == (5, 1250)


def test_query_string_sets_initial_values(client: Client, work: Work, url: str) -> None:
    work.observed(work.image())
    page = squeezed(client.get(f"{url}?how=sample&n=385&assignments=5&reward=0.55"))
    assert 'value="sample" checked' in page
    for value in ("385", "5", "0.55"):
        assert f'value="{value}"' in page


@pytest.mark.parametrize("pool", ["bogus", "excluded", "applied"])
def test_query_string_does_not_set_the_pool(client: Client, work: Work, url: str, pool: str) -> None:
    market.fund()
    work.observed(work.image())
    qualification(work.project, [work.image(n) for n in range(3)], 5)
    address = f"{url}?pool={pool}"
    assert client.get(address).context["form"]["pool"].value() == "qualified"
    assert client.post(address, VALUES | {"step": "launch"}).status_code == 302
    batch = Batch.objects.get(kind="observation_review")
    assert ("qualified", "Exists") in batch.requirements.values_list("qualification__slug", "comparator")


def test_page_without_approved_pairs_explains_next_step(client: Client, work: Work, url: str) -> None:
    assert "No approved pairs yet" in plain(client.get(url))
