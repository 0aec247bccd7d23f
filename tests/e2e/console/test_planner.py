"""The planner and the decisions page in a browser: keyboard, phone, and accessibility."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.models import Batch, Hit, Image, Project
from hits.services.images.import_image import import_image
from hits.services.launching.launch import launch_batch
from hits.services.launching.terms import LaunchTerms
from tests.support import market
from tests.support.axe import check_sizes
from tests.support.judging.asking import unit
from tests.support.judging.work import Work, review
from tests.support.pages import wait_until_seen
from tests.support.pictures import picture
from validation.models import DecisionRun, JudgingRound
from validation.selectors.decisions import default_rules_of_kind
from validation.services.decisions import decide_items

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
KIND = "observation_review"
SIZES = [(1280, "light"), (768, "dark"), (390, "light")]


@pytest.fixture
def round_(project: Project) -> JudgingRound:
    """Return a round with two judges per pair, who disagree about every third pair."""
    market.fund()
    work = Work(project)
    image = _photo(project)
    pairs = work.observed(image, worker="AUTHOR", count=3) + work.observed(image, worker="OTHER", count=3)
    batch, _ = launch_batch(
        project=project,
        kind_name=KIND,
        name="First look at the first photos",
        units=[unit(pair, pair.instance_id, pair.submission.attempt.worker) for pair in pairs],
        by=None,
        terms=LaunchTerms(redundancy=2),
    )
    work.publish(batch)
    for n, hit in enumerate(Hit.objects.filter(unit__batch=batch).order_by("pk")):
        work.answered(hit, "J1", review("highly"))
        work.answered(hit, "J2", review("un" if n % 3 == 0 else "relatively", "mostly", "caption_like"))
    rules = default_rules_of_kind(KIND)
    return JudgingRound.objects.create(
        batch=batch, rules={name: rule.as_row() for name, rule in rules.items()}
    )


def _photo(project: Project) -> Image:
    return import_image(project=project, name="photo.png", data=picture(width=640, height=480, seed=3))[0]


@pytest.mark.long
def test_planner_and_decisions_are_accessible_at_every_size(
    round_: JudgingRound,
    open_page: Callable[..., Any],
    sign_in: Callable[..., None],
    researcher: User,
) -> None:
    project = round_.batch.project
    decide_items(project=project, kind=KIND, rules=default_rules_of_kind(KIND), by=researcher)
    JudgingRound.objects.update(max_redundancy=5, ask_budget_cents=500)
    page = open_page()
    sign_in(page, researcher.username)
    base = f"/projects/{project.slug}/judging"
    for address in (
        f"{base}/planner/",
        f"{base}/planner/?width=x&rate=90&judges=3&reward=0.40",
        f"{base}/planner/?width=5&rate=97.5&judges=3&reward=0.40&population=",
        f"{base}/decisions/",
        f"{base}/decisions/?kind=likert_comparison",
        f"{base}/ask/{round_.pk}/",
    ):
        page.goto(address)
        check_sizes(page, address, SIZES)


def test_plan_by_keyboard_sets_values_of_the_launch(
    round_: JudgingRound, open_page: Callable[..., Any], sign_in: Callable[..., None], researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(f"/projects/{round_.batch.project.slug}/judging/planner/")
    wait_until_seen(page)
    page.get_by_role("textbox", name="Interval width").focus()
    for typed in ("40", "90", "2", "0.45"):
        page.keyboard.press("Control+A")
        page.keyboard.type(typed)
        page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("6")
    page.keyboard.press("Enter")
    page.get_by_text("95%, n = ").first.wait_for()
    items = int(page.locator(".stat dd").first.inner_text().split()[0])
    assert 1 <= items <= 6
    page.get_by_role("link", name="Launch this round").press("Enter")
    page.wait_for_url("**/judging/review/?how=sample**")
    assert page.locator("[name=n]").input_value() == str(items)
    assert page.locator("[name=assignments]").input_value() == "2"
    assert page.locator("[name=reward]").input_value() == "0.45"


def test_items_are_decided_and_a_follow_up_is_launched(
    round_: JudgingRound, open_page: Callable[..., Any], sign_in: Callable[..., None], researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(f"/projects/{round_.batch.project.slug}/judging/decisions/")
    page.get_by_label("Method").first.select_option("k_of_n")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Apply the rules to 12 judgments").click()
    page.get_by_text("4 of 6 accepted").first.wait_for()
    run = DecisionRun.objects.get()
    assert run.rules["reasonable"]["method"] == "k_of_n"
    page.get_by_role("link", name="Set up").click()
    page.get_by_label("Maximum workers per item").fill("3")
    page.get_by_label("Follow-up budget").fill("1.00")
    page.get_by_role("button", name="Save the limits").click()
    page.get_by_role("button", name="Launch 2 tasks, hold $0.80").dblclick()
    page.get_by_text("follow-up 1 is launched").wait_for()
    assert Batch.objects.filter(provenance__asks_again=round_.batch_id).count() == 1
