"""The session ends while somebody types: after signing in they are back on the page, and so is what they typed."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session

from hits.models import Assignment, Batch, Hit, Image, Project
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, published

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def waiting(project: Project, make_image: Callable[..., Image]) -> Batch:
    """Return a batch with one submission that waits for review."""
    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker(), observations(3))
    collected(batch)
    return batch


def sign_in_again(page: Any, username: str) -> None:
    page.wait_for_url("**/sign-in/**")
    page.fill("input[name=username]", username)
    page.fill("input[name=password]", "a long pass phrase")
    page.locator("main form button").first.click()
    page.wait_for_url(lambda url: "/sign-in/" not in url)


def test_a_review_typed_before_the_session_ended_is_still_there_after_it(
    open_page: Callable[..., Any], sign_in: Callable[[Any, str], None], waiting: Batch, researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    address = f"/batches/{waiting.pk}/review"
    page.goto(address)
    page.locator("#fb").fill("Lovely boxes, all of them.")
    Session.objects.all().delete()
    page.get_by_role("button", name="Approve").first.click()
    sign_in_again(page, researcher.username)
    assert address in page.url
    assert page.locator("#fb").input_value() == "Lovely boxes, all of them."
    assert Assignment.objects.get().status == "Submitted", "nothing was done in nobody's name"

    page.goto(address)
    assert page.locator("#fb").input_value() == "", "and once is enough"


def test_what_was_typed_survives_a_sign_in_in_another_tab(
    open_page: Callable[..., Any], sign_in: Callable[[Any, str], None], waiting: Batch, researcher: User
) -> None:
    """A sign-in changes what forms are signed with, so the older tab's form is turned away."""
    page = open_page()
    sign_in(page, researcher.username)
    address = f"/batches/{waiting.pk}/review"
    page.goto(address)
    page.locator("#fb").fill("Lovely boxes, all of them.")
    Session.objects.all().delete()
    other = page.context.new_page()
    other.goto(page.url)
    sign_in_again(other, researcher.username)
    page.get_by_role("button", name="Approve").first.click()
    page.get_by_role("link", name="Back to your entries").click()
    page.wait_for_url(f"**{address}*")
    assert page.locator("#fb").input_value() == "Lovely boxes, all of them."
    assert Assignment.objects.get().status == "Submitted"


def test_the_reason_of_a_rejection_comes_back_into_its_own_dialog(
    open_page: Callable[..., Any], sign_in: Callable[[Any, str], None], waiting: Batch, researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(f"/batches/{waiting.pk}/review")
    page.get_by_role("button", name="Reject…").first.click()
    page.locator("#reason").fill("The boxes miss what the clue names.")
    Session.objects.all().delete()
    page.locator("dialog[open] button[name=verdict], dialog[open] button.btn--danger").first.click()
    sign_in_again(page, researcher.username)
    assert page.locator("dialog[open] #reason").input_value() == "The boxes miss what the clue names."
    assert page.locator("#fb").input_value() == ""


def test_another_person_who_signs_in_there_reads_nothing_of_it(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    waiting: Batch,
    researcher: User,
    admin: User,
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(f"/batches/{waiting.pk}/review")
    page.locator("#fb").fill("Lovely boxes, all of them.")
    Session.objects.all().delete()
    page.get_by_role("button", name="Approve").first.click()
    sign_in_again(page, admin.username)
    assert page.locator("#fb").input_value() == ""


@pytest.mark.parametrize(
    ("place", "field", "button"),
    [
        ("projects/{slug}/launch", "input[name=name]", "See what it costs"),
        ("projects/{slug}/versions/", "input[name=name]", "Create draft"),
        ("projects/{slug}/consent", "textarea[name=body]", "Publish"),
    ],
    ids=["launch", "draft", "consent"],
)
def test_other_forms_come_back_with_what_was_typed(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    make_image: Callable[..., Image],
    admin: User,
    place: str,
    field: str,
    button: str,
) -> None:
    make_image(1)
    page = open_page()
    sign_in(page, admin.username)
    address = "/" + place.format(slug=project.slug)
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.locator(field).first.fill("Typed just now")
    Session.objects.all().delete()
    page.get_by_role("button", name=button).first.click()
    sign_in_again(page, admin.username)
    assert page.url.endswith(address)
    assert page.locator(field).first.input_value() == "Typed just now"
