"""In the worker site's own frame, which is really cross-site: drags that leave it, no cookies, a return."""

from collections.abc import Callable
from typing import Any

import pytest

from hits.models import Hit, Image, Project
from tests.support import market
from tests.support.box_editor import READY, Task
from tests.support.loop import published

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def framed(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    make_image: Callable[..., Image],
) -> Callable[..., Task]:
    """Return a function that takes the task on the worker site and agrees to the consent text."""

    def start(**window: Any) -> Task:
        market.fund()
        published(project, [make_image(1, width=640, height=480)])
        worker = market.market_worker("wilma")
        page = open_page(**window)
        sign_in(page, "wilma")
        page.get_by_role("button", name="Start").first.click()
        frame = page.frame_locator("iframe")
        frame.locator("#country").select_option("US")
        frame.get_by_role("button", name="I agree").click()
        frame.locator(READY).wait_for(state="attached")
        slot = market.HIT.objects.get().assignments.get()
        return Task(page, frame, 640, 480, market.Accepted(Hit.objects.get(), slot, worker))

    return start


def test_a_drag_that_leaves_the_frame_ends_where_it_left(framed: Callable[..., Task], site: str) -> None:
    task = framed()
    assert task.root.locator("#task h1").evaluate("h => document.activeElement === h"), (
        "focus follows the consent"
    )
    # At a first visit the instructions are open, and the photo is still in the first screen.
    photo, bar = task.root.locator("#stage").bounding_box(), task.root.locator(".submitbar").bounding_box()
    assert bar["y"] - photo["y"] >= 0.25 * 900
    task.fold()
    mouse = task.page.mouse
    mouse.move(*task.at(300, 200))
    mouse.down()
    mouse.move(*task.at(200, 100), steps=3)
    mouse.move(200, 20, steps=3)  # over the worker site's own header
    mouse.up()
    mouse.move(*task.at(400, 300), steps=3)
    assert task.root.locator(".box--draft").count() == 0, "the drag is not stuck"
    ((_, top, _, height),) = task.boxes()
    assert (top, height) == (0, 200)
    mouse.move(*task.at(500, 400), steps=2)
    assert len(task.boxes()) == 1
    cookies = task.page.context.cookies(site.replace("localhost", "127.0.0.1"))
    assert cookies == []


def test_a_task_given_back_and_taken_again_goes_on(framed: Callable[..., Task]) -> None:
    task = framed()
    task.fold()
    task.root.locator("#clue1").fill("the open umbrella")
    task.drag((10, 10), (100, 100))
    task.wait_saved()
    task.page.get_by_role("button", name="Return this task").first.click()
    task.page.locator("dialog[open]").get_by_role("button", name="Return this task").click()
    task.page.get_by_role("button", name="Start").first.click()
    task.root.locator(READY).wait_for(state="attached")
    assert task.root.locator("#clue1").input_value() == "the open umbrella"
    assert len(task.boxes()) == 1
