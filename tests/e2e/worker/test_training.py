"""The training HIT in a browser: a trainer's answer to the last attempt stands above the next one."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.models import Hit, Image, Project
from hits.services.reviewing import feedback
from tests.support import box_editor, market
from tests.support.answers import observation
from tests.support.axe import check_sizes
from tests.support.loop import collected, published
from tests.support.pages import wait_until_seen

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
KIND = "sherlock_training"
REMARKS = [
    {"observation": None, "part": None, "box": None, "text": "Guesses are welcome."},
    {"observation": 2, "part": "clue", "box": None, "text": "Say where it is."},
    {"observation": 1, "part": "boxes", "box": 2, "text": "This box shows the sky."},
    {"observation": 3, "part": None, "box": None, "text": "The same as the first."},
]


@pytest.fixture
def attempt(site: str, project: Project, admin: User, make_image: Callable[..., Image]) -> Callable[..., str]:
    """Return a function that lets wilma take a second training task, and returns its page's address."""

    def second(**answered: Any) -> str:
        market.fund()
        batch = published(project, [make_image(1, width=640, height=480)], kind=KIND)
        worker = market.market_worker("wilma")
        answer = {"observations": [observation(n, boxes=2 if n == 1 else 1) for n in (1, 2, 3)]}
        submission = market.work(Hit.objects.get(), worker, answer)
        collected(batch)
        if answered:
            feedback.write_feedback(submission=submission, by=admin, **answered)
        later = published(project, [make_image(2, width=640, height=480)], kind=KIND)
        return box_editor.task_address(box_editor.agreed(market.accept(later.units.get().hits.get(), worker)))

    return second


def _opened(open_page: Callable[..., Any], address: str, **window: Any) -> Any:
    page = open_page(**window)
    page.goto(address)
    page.locator("html[data-ready=true]").wait_for(state="attached")
    wait_until_seen(page)
    return page


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desktop", "phone"])
def test_trainers_answer_is_shown_above_the_next_attempt(
    attempt: Callable[..., str], open_page: Callable[..., Any], width: int, height: int
) -> None:
    address = attempt(outcome="again", summary="A good start.\nOne more photo.", remarks=REMARKS)
    page = _opened(open_page, address, width=width, height=height)
    panel = page.locator("#feedback")
    panel.locator("summary").wait_for()
    assert "Try again" in panel.locator("summary").inner_text()
    announcement = page.locator("#say").inner_text()
    assert announcement == "Your trainer answered your last attempt: Try again. 4 remarks, above the photo."
    assert panel.locator(".stage .box").count() == 4
    assert panel.locator(".fb-remarks li").all_inner_texts() == [
        "Remark 1:\n1\nGuesses are welcome.",
        "Remark 2:\n2\nBox 1b. This box shows the sky.",
        "Remark 3:\n3\nSay where it is.",
        "Remark 4:\n4\nThe same as the first.",
    ]
    remarked = panel.locator(".fb-card.obs-2 .fb-line--remarked")
    assert "the" in remarked.locator(".fb-text").inner_text()
    assert remarked.locator("li").count() == 1, "the remark stands beside the clue that it is about"
    assert page.locator("html").evaluate("html => html.scrollWidth <= html.clientWidth")
    assert page.get_by_text("This is training:").is_visible()


def test_closed_answer_stays_closed(attempt: Callable[..., str], open_page: Callable[..., Any]) -> None:
    page = _opened(open_page, attempt(outcome="complete", summary="Well done.", remarks=[]))
    page.get_by_role("button", name="I have read this").press("Enter")
    assert page.locator("#feedback summary:focus").count() == 1, "the focus is not lost"
    assert page.locator("#clue1").is_visible()
    page.reload()
    page.locator("html[data-ready=true]").wait_for(state="attached")
    assert page.locator("#feedback details").get_attribute("open") is None
    page.locator("#feedback summary").click()
    assert page.get_by_text("Well done.").is_visible()


def test_task_without_answer_has_no_panel(attempt: Callable[..., str], open_page: Callable[..., Any]) -> None:
    page = _opened(open_page, attempt())
    assert page.locator("#feedback").is_hidden()
    assert page.get_by_text("This is training:").is_visible()


def test_training_task_is_accessible(attempt: Callable[..., str], open_page: Callable[..., Any]) -> None:
    address = attempt(outcome="again", summary="A good start.", remarks=REMARKS)
    page = _opened(open_page, address)
    page.locator("#feedback summary").wait_for()
    check_sizes(page, "a trainer's answer", [(1280, "light"), (1280, "dark")])
