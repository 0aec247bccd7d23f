"""The training queue and the pages about workers in a browser."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from hits.models import Assignment, Feedback, Hit, Image, Project
from hits.mturk.boto import marketplace
from hits.services.reviewing import review
from tests.support import market
from tests.support.answers import observations
from tests.support.axe import check_sizes
from tests.support.judging.crowd import crowd
from tests.support.loop import collected, published
from validation.domain.qualification.worker_rules import RuleSettings
from validation.domain.qualification.worker_status import Measure, WorkerStatus
from validation.services import worker_rules

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def attempt(project: Project, make_image: Callable[..., Image]) -> Assignment:
    """Return one training attempt that waits; its second observation has two boxes."""
    market.fund()
    batch = published(project, [make_image(1, width=640, height=480)], kind="sherlock_training")
    answer = observations()
    answer["observations"][1]["boxes"] = [
        {"left": 50, "top": 60, "width": 120, "height": 100},
        {"left": 400, "top": 250, "width": 160, "height": 120},
    ]
    market.work(Hit.objects.get(), market.market_worker(), answer)
    return collected(batch)[0]


def settled(assignment: Assignment) -> None:
    """Send the decisions to the test's marketplace, whichever process planned them."""
    for decision in assignment.decisions.all():
        review.settle_decision(decision=decision, marketplace=marketplace())


def test_click_on_box_opens_remark_and_reload_keeps_text(
    attempt: Assignment, project: Project, researcher: User, open_page: Callable[..., Any], sign_in: Any
) -> None:
    page = open_page()
    sign_in(page, "rosa")
    page.goto(reverse("training-queue", args=[project.slug]))
    box = page.locator(".stage .box", has_text="2b")
    box.click()
    page.keyboard.type("Two clues in one.")
    page.locator(".stage .box", has_text="2a").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("Keep this one.")
    assert page.locator("[data-remarks]").inner_text() == "Includes 2 remarks"
    page.reload()
    assert page.locator("[name=remark-2-boxes-2]").input_value() == "Two clues in one."
    page.locator("main h1").click()
    page.keyboard.press("w")
    page.keyboard.type("Good so far. Once more.")  # keys do nothing while a text field has the focus
    assert not Feedback.objects.exists()
    page.locator("main h1").click()
    page.keyboard.press("o")
    page.get_by_text("tries again").wait_for()
    written = Feedback.objects.get()
    assert [(row["box"], row["text"]) for row in written.remarks] == [
        (1, "Keep this one."),
        (2, "Two clues in one."),
    ]
    assert written.summary == "Good so far. Once more."
    settled(attempt)


def test_remarks_work_without_script(
    attempt: Assignment, project: Project, researcher: User, open_page: Callable[..., Any], sign_in: Any
) -> None:
    page = open_page(java_script_enabled=False)
    sign_in(page, "rosa")
    page.goto(reverse("training-queue", args=[project.slug]))
    page.locator("[data-remark=remark-1-clue] summary").click()
    page.fill("[name=remark-1-clue]", "Which cup?")
    page.locator("button[value=again]").click()
    page.get_by_text("No training attempts to answer").wait_for()
    assert Feedback.objects.get().remarks[0]["part"] == "clue"
    settled(attempt)


@pytest.mark.long
def test_worker_pages_are_accessible(
    attempt: Assignment,
    project: Project,
    make_image: Callable[..., Image],
    admin: User,
    open_page: Callable[..., Any],
    sign_in: Any,
) -> None:
    worker = crowd(project, make_image(2), 1, each=4, rejected=3)[0]
    rule = RuleSettings(Measure.APPROVED_SHARE, 90, 50, 2)
    saved = worker_rules.save_rule(
        project=project, name="Approved", rule=rule, proposes=WorkerStatus.PAUSED, by=None
    )
    worker_rules.evaluate_rules()
    page = open_page()
    sign_in(page, "ada")
    keys = {"worker-detail": [worker.pk], "rule-edit": [saved.pk]}
    for name in ("workers", "worker-detail", "training-queue", "worker-rules", "rule-edit"):
        page.goto(reverse(name, args=[project.slug, *keys.get(name, [])]))
        check_sizes(page, name, [(1280, "light"), (1280, "dark")])
