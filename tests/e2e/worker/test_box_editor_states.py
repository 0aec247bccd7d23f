"""The task page in each of its states: axe-core finds nothing, light and dark, wide and narrow."""

from collections.abc import Callable
from typing import Any

import pytest

from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT
from tests.support import market
from tests.support.axe import check_page
from tests.support.box_editor import Task, task_address
from tests.support.market import Accepted
from tests.support.pages import give_time, wait_until_seen

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenTask = Callable[..., Task]


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_state(open_task: OpenTask, scheme: str) -> None:
    task = open_task(color_scheme=scheme, folded=False)
    page = task.page
    check_page(page, "at a first visit")
    task.fold()
    task.drag((10, 10), (200, 200))
    task.root.locator("[data-tool=draw]").click()
    task.drag((50, 50), (250, 300))
    check_page(page, "a box selected")
    task.root.locator("[data-tool=in]").click()
    page.keyboard.press("Control+Enter")
    check_page(page, "zoomed, and something is missing")
    page.keyboard.press("Escape")
    task.root.locator("[data-tool=help]").click()
    check_page(page, "the list of shortcuts")
    page.keyboard.press("Escape")
    task.root.locator("[data-tool=fit]").click()

    task.complete()
    wrong = {"field": "observations[1].inference", "message": "write a sentence"}
    page.route(
        "**/hit/api/submission",
        lambda route: route.fulfill(status=400, json={"error": "", "errors": [wrong]}),
    )
    page.get_by_role("button", name="Submit for $1.10").click()
    task.root.locator("#errors h2").wait_for()
    assert page.evaluate("document.activeElement.id") == "errors"
    check_page(page, "refused by the server")

    theirs = {
        "revision": 90,
        "content": {"answer": {"observations": []}, "writer": "x", "seen": {"x": 3}, "at": 0},
    }
    page.route("**/hit/api/draft", lambda route: route.fulfill(status=409, json={"error": "", **theirs}))
    task.root.locator("#clue3").fill("changed here as well")
    task.root.locator(".note-bar", has_text="another window").wait_for()
    check_page(page, "two versions")
    page.set_viewport_size({"width": 390, "height": 844})
    check_page(page, "two versions, on a phone")


def test_axe_finds_nothing_before_the_task_begins(
    accept_photo: Callable[..., Accepted], open_page: Callable[..., Any]
) -> None:
    accepted = accept_photo(redundancy=2)
    newcomer = market.accept(accepted.hit, market.market_worker("walter"))
    page = open_page()
    page.goto(task_address(newcomer))
    page.get_by_role("button", name="I agree").wait_for()
    check_page(page, "consent")
    page.goto(task_address(accepted).replace(accepted.slot.assignment_id, NO_ASSIGNMENT))
    page.get_by_text("This is a preview.").wait_for()
    check_page(page, "preview")


def test_forced_colours_and_reduced_motion_keep_what_matters(open_task: OpenTask) -> None:
    task = open_task(forced_colors="active", reduced_motion="reduce")
    task.drag((10, 10), (200, 200))
    task.page.keyboard.press("Escape")
    stroke = task.root.locator(".box .line").evaluate("line => getComputedStyle(line).stroke")
    assert stroke == "rgb(7, 59, 142)", "boxes keep their own colour"
    pressed = task.root.locator("[data-tool=draw]")
    assert pressed.evaluate("b => getComputedStyle(b).outlineStyle") == "solid", (
        "what a tint says is outlined"
    )
    moving = task.root.locator("#submit").evaluate("b => getComputedStyle(b).transitionDuration")
    assert float(moving.removesuffix("s").split(",")[0]) < 0.001
    check_page(task.page, "forced colours")


def test_nothing_sticks_out_sideways_and_the_photo_is_on_the_first_screen(open_task: OpenTask) -> None:
    task = open_task(folded=False)
    for width, height in ((390, 844), (768, 1024), (1280, 900), (1920, 1080)):
        task.page.set_viewport_size({"width": width, "height": height})
        task.root.locator("#how").evaluate("how => { how.open = true; }")
        wait_until_seen(task.page)
        give_time(task.page, lambda: _too_wide(task) <= 0 and _in_sight(task) >= 0.3)
        assert _too_wide(task) <= 0
        assert _in_sight(task) >= 0.3, f"{width}: instructions leave the photo in sight"


def _too_wide(task: Task) -> int:
    """Return by how much the page sticks out of the window."""
    width = task.page.evaluate("document.documentElement.scrollWidth")
    return int(width - task.page.viewport_size["width"])


def _in_sight(task: Task) -> float:
    """Return the share of the photo's height that is in view."""
    _, top, _, bottom = task.visible()
    return (bottom - top) / task.height
