"""The audit panel of a question set's page, and its two actions."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import AuditWaiver, QuestionSet
from curation.pipelines.choice_audits import audit_question_set
from curation.selectors.choice_audits import launch_refusal
from hits.models import Job, Project
from tests.support.vcr.question_sets import store_synthetic_set

pytestmark = pytest.mark.django_db
REASON = "The pilot only measures how long people need."


@pytest.fixture
def question_set(project: Project) -> QuestionSet:
    return store_synthetic_set(project, {"train-0": 24, "val-0": 22, "test-0": 20}).question_set


def _address(name: str, question_set: QuestionSet) -> str:
    return reverse(name, args=[question_set.project.slug, question_set.pk])


def _page(client: Client, question_set: QuestionSet) -> str:
    response = client.get(_address("question-set", question_set))
    assert response.status_code == 200
    return response.content.decode()


def _put_over(question_set: QuestionSet) -> None:
    audits = audit_question_set(question_set)
    audits["limits"][0] |= {"value": 0.9, "is_over": True}
    audits["tag_overlap"]["answer"]["expected_on_ties"] = 0.9
    QuestionSet.objects.filter(pk=question_set.pk).update(
        audits=audits | {"over": ["tag_overlap (answer)", "labels (answer)"]}
    )
    question_set.refresh_from_db()


def test_set_without_audits_shows_an_empty_panel(
    client: Client, researcher: User, question_set: QuestionSet
) -> None:
    client.force_login(researcher)
    assert "Not audited yet" in _page(client, question_set)


def test_panel_shows_shares_limits_and_published_figures(
    client: Client, researcher: User, question_set: QuestionSet
) -> None:
    audits = audit_question_set(question_set)
    client.force_login(researcher)
    page = _page(client, question_set)
    assert f"{100 * audits['tag_overlap']['answer']['expected_on_ties']:.1f}%" in page
    for text in ("Shared objects", "Choices alone", "53.8%", "64.1%", "66 are wrong exactly three times"):
        assert text in page


def test_set_over_a_limit_shows_a_form_for_the_reason(
    client: Client, researcher: User, question_set: QuestionSet
) -> None:
    _put_over(question_set)
    client.force_login(researcher)
    page = _page(client, question_set)
    assert "Over a limit: Shared objects, answers; Labels, answers." in page
    assert "People cannot solve this set" in page
    response = client.post(_address("question-set-waive", question_set), {"reason": REASON}, follow=True)
    assert REASON in response.content.decode()
    assert launch_refusal(question_set) is None


def test_reason_that_is_too_short_is_a_message(
    client: Client, researcher: User, question_set: QuestionSet
) -> None:
    _put_over(question_set)
    client.force_login(researcher)
    response = client.post(_address("question-set-waive", question_set), {"reason": "no"}, follow=True)
    assert "Not stored: reason: has 2 characters" in response.content.decode()
    assert not AuditWaiver.objects.exists()


def test_audits_are_queued_once(client: Client, researcher: User, question_set: QuestionSet) -> None:
    client.force_login(researcher)
    for message in ("The audits are queued", "Not started"):
        response = client.post(_address("question-set-audit", question_set), follow=True)
        assert message in response.content.decode()
    assert Job.objects.filter(task="curation.audit_choices").count() == 1


@pytest.mark.parametrize("name", ["question-set-waive", "question-set-audit"])
def test_actions_are_for_members_of_the_project(
    client: Client, make_user: Callable[..., User], outsider: User, question_set: QuestionSet, name: str
) -> None:
    _put_over(question_set)
    client.force_login(outsider)
    assert client.post(_address(name, question_set), {"reason": REASON}).status_code in {403, 404}
    client.force_login(make_user("nobody"))
    assert client.post(_address(name, question_set), {"reason": REASON}).status_code in {403, 404}
    client.logout()
    assert client.post(_address(name, question_set), {"reason": REASON}).status_code == 302
    assert client.get(_address(name, question_set)).status_code in {302, 405}
    assert not AuditWaiver.objects.exists()
    assert not Job.objects.filter(task="curation.audit_choices").exists()
