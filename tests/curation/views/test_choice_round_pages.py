"""The page of choice rounds: who may open it, what it shows beside the paper, how a round is launched."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import ChoiceRound, QuestionSet, Stage
from curation.services.lambda_tuning import launch_pilot
from hits.models import Project
from tests.support.judging.work import Work
from tests.support.market import fund
from tests.support.pages import squeezed
from tests.support.vcr.choices import choose, launched_round, small_set

pytestmark = pytest.mark.django_db
TERMS = {"name": "", "assignments": "5", "reward": "0.10", "pool": "", "seed": "0", "split": ""}


@pytest.fixture
def console(client: Client, researcher: User) -> Client:
    client.force_login(researcher)
    return client


def address(project: Project, name: str = "choice-rounds") -> str:
    return reverse(name, args=[project.slug])


def page(console: Client, project: Project) -> str:
    reply = console.get(address(project))
    assert reply.status_code == 200
    return squeezed(reply)


@pytest.mark.parametrize("name", ["choice-rounds", "choice-lambda"])
def test_pages_are_closed_to_strangers(name: str, project: Project, annotator: User, outsider: User) -> None:
    client = Client()
    assert client.post(address(project, name)).status_code == 302
    for stranger in (annotator, outsider):
        client.force_login(stranger)
        if name == "choice-rounds":
            assert client.get(address(project, name)).status_code == 404
        assert client.post(address(project, name), {"stage": "answer"}).status_code == 404
    guarded = Client(enforce_csrf_checks=True)
    guarded.force_login(User.objects.create_superuser("root"))
    assert guarded.post(address(project, name), {"stage": "answer"}).status_code == 403


def test_page_without_sets_leads_to_them_and_shows_the_paper(console: Client, project: Project) -> None:
    text = page(console, project)
    assert "No question set yet" in text
    assert [float(n) for n in re.findall(r"<b>(\d+\.\d)</b>", text)] == [91.0, 93.0, 85.0]
    assert "five people on each of 200 test questions" in text


def test_human_figures_stand_beside_those_of_the_paper(console: Client, work: Work) -> None:
    question_set = small_set(work.project)
    answers, rationales = (launched_round(work, question_set, stage) for stage in Stage)
    choose(work, answers, [[True] * 5, [True] * 5, [True] * 5, [False] * 5])
    choose(work, rationales, [[True] * 5, [True] * 5, [False] * 5, [True] * 5], names="K")
    text = page(console, work.project)
    assert re.findall(r"<b>(\d+\.\d)</b>", text)[:3] == ["75.0", "75.0", "50.0"]
    assert "20 of 20" in text


def test_round_is_launched_after_its_cost_is_confirmed(console: Client, work: Work) -> None:
    fund()
    question_set = small_set(work.project, similarity="vectors")
    data = TERMS | {"question_set": str(question_set.pk), "stage": "answer", "purpose": "main", "sample": "3"}
    here = address(work.project)
    assert "is a stand-in: without your consent" in page(console, work.project)
    shown = console.post(here, data | {"step": "estimate"})
    assert shown.status_code == 200
    key = re.search(r'name="idempotency_key" value="(\w+)"', shown.content.decode())
    assert key
    confirmed = data | {"step": "launch", "idempotency_key": key[1]}
    refused = console.post(here, confirmed)
    assert refused.status_code == 400
    assert "its similarity model is a stand-in" in squeezed(refused)
    for _ in range(2):
        assert console.post(here, confirmed | {"accept_stand_in": "on"}).status_code == 302
    assert ChoiceRound.objects.get().options["accepted_stand_in"]


def test_more_questions_than_there_are_is_an_error_of_the_field(console: Client, work: Work) -> None:
    question_set = small_set(work.project)
    data = TERMS | {
        "question_set": str(question_set.pk),
        "stage": "answer",
        "purpose": "main",
        "sample": "30",
    }
    reply = console.post(address(work.project), data | {"step": "estimate"})
    assert reply.status_code == 400
    assert "Use 20 or fewer" in squeezed(reply)


def test_lambda_of_a_pilot_is_chosen(console: Client, work: Work, researcher: User) -> None:
    question_set = small_set(work.project)
    pilot, _ = launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=2, by=None)
    work.publish(pilot.batch)
    choose(work, pilot, [[True] * 5, [True] * 5], several=True)
    text = page(console, work.project)
    assert "Pilots for λ, answers" in text
    assert "Pilots for λ, rationales" not in text
    assert "2 of 2" in text
    here = address(work.project, "choice-lambda")
    assert console.post(here, {"stage": "answer", "question_set": "none"}).status_code == 404
    assert console.post(here, {"stage": "both", "question_set": question_set.name}).status_code == 404
    assert console.post(here, {"stage": "answer", "question_set": question_set.name}).status_code == 302
    chosen = QuestionSet.objects.get(pk=question_set.pk).provenance["lambda_choice"]["answer"]
    assert (chosen["value"], chosen["by"]) == (0.1, researcher.username)
    assert f"{question_set.name}: λ 0.1, by {researcher.username}" in page(console, work.project)


def test_queries_do_not_grow_with_rounds_and_answers(
    console: Client, work: Work, django_assert_max_num_queries: object
) -> None:
    question_set = small_set(work.project)
    for stage in Stage:
        for sample in (2, 3):
            launched_round(work, question_set, stage, sample=sample)
    with django_assert_max_num_queries(40) as found:  # type: ignore[operator]
        console.get(address(work.project))
    before = len(found)
    for stage in Stage:
        launched_round(work, question_set, stage, sample=4)
    with django_assert_max_num_queries(before):  # type: ignore[operator]
        console.get(address(work.project))
