"""The same work in German: the browser asks for it, the page is drawn, written, counted and submitted in it."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hits.models import Batch, Hit, Image, Project, Submission
from tests.support import market
from tests.support.loop import published

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MakeImage = Callable[..., Image]


def _drag(page: Any, frame: Any, box: tuple[float, float, float, float]) -> None:
    """Draw one box on the photo; shares of the shown picture."""
    stage = frame.locator(".stage svg").first
    stage.scroll_into_view_if_needed()
    rect = stage.bounding_box()
    left, top, right, bottom = box
    page.mouse.move(rect["x"] + left * rect["width"], rect["y"] + top * rect["height"])
    page.mouse.down()
    page.mouse.move(rect["x"] + right * rect["width"], rect["y"] + bottom * rect["height"], steps=4)
    page.mouse.up()


def _keep(page: Any, name: str) -> None:
    """Keep a picture where a person asked for pictures."""
    if folder := os.environ.get("DEERSTALKER_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=False)


def _overflow(frame: Any) -> list[str]:
    """Return what reaches beyond the right edge of the page; what scrolls by itself is no overflow."""
    found: list[str] = frame.locator("html").evaluate(
        """html => [...document.querySelectorAll('body *')]
            .filter(e => e.checkVisibility() && !e.closest('svg, .sr, [class*=scroll]'))
            .filter(e => e.getBoundingClientRect().right > html.clientWidth + 1)
            .map(e => `${e.tagName}.${e.className}: ${e.textContent.trim().slice(0, 40)}`)"""
    )
    return found


def _opened(page: Any) -> Any:
    page.get_by_role("button", name="Beginnen").first.click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", name="Bevor Sie beginnen").wait_for()
    assert _overflow(frame) == []
    _keep(page, f"consent-{page.viewport_size['width']}")
    country = frame.locator("#country")
    if country.count():
        country.select_option("DE")
    frame.get_by_role("button", name="Ich stimme zu").click()
    frame.locator("html[data-ready=true]").wait_for(state="attached")
    return frame


def _write(page: Any, frame: Any, index: int, box: tuple[float, float, float, float]) -> None:
    card = frame.locator(f"#o{index}")
    if card.get_attribute("open") is None:
        card.locator("summary").click()
    card.locator(f"#clue{index}").fill(f"the thing number {index} at the window")
    _drag(page, frame, box)
    card.locator(f"#inf{index}").fill(f"Somebody will come back for it in {index} hours.")
    card.locator("label", has_text="Sicher").click()


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desk", "phone"])
def test_a_worker_submits_in_german(
    site: str,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    make_image: MakeImage,
    width: int,
    height: int,
) -> None:
    market.fund()
    published(project, [make_image(1, width=640, height=480)])
    market.market_worker("wilma")
    page = open_page(width, height, has_touch=width < 500, locale="de-DE")
    sign_in(page, "wilma")
    assert page.locator("html").get_attribute("lang") == "de"
    assert _overflow(page) == []
    _keep(page, f"work-{width}")
    frame = _opened(page)
    assert frame.locator("html").get_attribute("lang") == "de"
    _keep(page, f"task-{width}")
    assert _overflow(frame) == []
    _write(page, frame, 1, (0.05, 0.1, 0.3, 0.4))
    assert "1 von 3 vollständig" in frame.locator("#tally").inner_text()
    _keep(page, f"begun-{width}")
    _write(page, frame, 2, (0.1, 0.5, 0.4, 0.8))
    _write(page, frame, 3, (0.5, 0.5, 0.9, 0.9))
    assert _overflow(frame) == []
    frame.get_by_role("button", name=re.compile(r"Für 1,10\s\$ abgeben")).click()
    page.get_by_text("Abgegeben", exact=False).first.wait_for()
    _keep(page, f"submitted-{width}")
    assert len(Submission.objects.get().answer["observations"]) == 3


def test_the_switch_in_the_task_keeps_what_was_written(
    site: str,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    make_image: MakeImage,
) -> None:
    market.fund()
    published(project, [make_image(1, width=640, height=480)])
    market.market_worker("wilma")
    # Somebody else's marketplace has no switch of its own above the frame, so the task's page brings one.
    for rows in (Batch.objects, Hit.objects):
        rows.update(environment="aws-sandbox")
    page = open_page(locale="de-DE")
    sign_in(page, "wilma")
    frame = _opened(page)
    frame.locator("#clue1").fill("the hat on the hook")
    # At once: what the autosave has not sent yet must be there all the same.
    frame.get_by_role("link", name="English").click()
    frame.locator("html[lang=en][data-ready=true]").wait_for(state="attached")
    assert frame.locator("#clue1").input_value() == "the hat on the hook"
    frame.get_by_role("link", name="Deutsch").click()
    frame.locator("html[lang=de][data-ready=true]").wait_for(state="attached")
    assert frame.locator("#clue1").input_value() == "the hat on the hook"


def test_the_switch_of_the_worker_site_holds_for_the_task_as_well(
    site: str,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    make_image: MakeImage,
) -> None:
    market.fund()
    published(project, [make_image(1)])
    market.market_worker("wilma")
    page = open_page(locale="en-US")
    sign_in(page, "wilma")
    page.get_by_role("button", name="Deutsch").click()
    page.locator("html[lang=de]").wait_for(state="attached")
    page.get_by_role("button", name="Beginnen").first.click()
    page.frame_locator("iframe").get_by_role("heading", name="Bevor Sie beginnen").wait_for()
