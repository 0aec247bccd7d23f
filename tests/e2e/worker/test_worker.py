"""A worker in a browser: signs in, accepts, draws, writes, submits; at a desk and on a phone."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from hits.domain.states import SubmissionMatch
from hits.models import Hit, Image, Project, Submission
from tests.support import market
from tests.support.loop import collected, published

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


def _begin(page: Any) -> Any:
    """Start the first task, agree to the consent text, and return the task's frame once it is ready."""
    page.get_by_role("button", name="Start").first.click()
    frame = page.frame_locator("iframe")
    frame.locator("#country").select_option("US")
    frame.get_by_role("button", name="I agree").click()
    frame.locator("html[data-ready=true]").wait_for(state="attached")
    frame.locator("#o1").wait_for()
    return frame


def _write(page: Any, frame: Any, index: int, boxes: list[tuple[float, float, float, float]]) -> None:
    card = frame.locator(f"#o{index}")
    if card.get_attribute("open") is None:
        card.locator("summary").click()
    card.locator(f"#clue{index}").fill(f"the thing number {index} at the window")
    for box in boxes:
        _drag(page, frame, box)
    card.locator(f"#inf{index}").fill(f"Somebody will come back for it in {index} hours.")
    card.get_by_text("Likely", exact=False).first.click()


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desk", "phone"])
def test_a_worker_draws_writes_and_submits(
    site: str,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    make_image: MakeImage,
    width: int,
    height: int,
) -> None:
    market.fund()
    image = make_image(1, width=640, height=480)
    batch = published(project, [image])
    market.market_worker("wilma")
    page = open_page(width, height, has_touch=width < 500)
    sign_in(page, "wilma")
    frame = _begin(page)
    _write(page, frame, 1, [(0.05, 0.1, 0.3, 0.4), (0.5, 0.1, 0.8, 0.4)])
    _write(page, frame, 2, [(0.1, 0.5, 0.4, 0.8)])
    _write(page, frame, 3, [(0.5, 0.5, 0.9, 0.9)])
    frame.get_by_role("button", name="Submit for $1.10").click()
    page.get_by_text("Submitted", exact=False).first.wait_for()
    (assignment,) = collected(batch)
    assert assignment.match == SubmissionMatch.MATCHED
    submission = Submission.objects.get()
    rows = submission.answer["observations"]
    assert [len(row["boxes"]) for row in rows] == [2, 1, 1]
    first = rows[0]["boxes"][0]
    # A drag from 5 % to 30 % of 640 px; a screen pixel is at most two image pixels on the phone.
    assert abs(first["left"] - 32) <= 3
    assert abs(first["width"] - 160) <= 4
    assert submission.active_seconds > 0
    assert Hit.objects.get().assignments.count() == 1


def test_a_reload_keeps_the_draft(
    site: str,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    make_image: MakeImage,
) -> None:
    market.fund()
    published(project, [make_image(1, width=640, height=480)])
    market.market_worker("wilma")
    page = open_page()
    sign_in(page, "wilma")
    frame = _begin(page)
    _write(page, frame, 1, [(0.1, 0.1, 0.4, 0.4)])
    frame.locator("#save").get_by_text(re.compile("^Saved")).wait_for()
    page.reload()
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready=true]").wait_for(state="attached")
    frame.locator(".stage .box").first.wait_for()
    assert frame.locator("#clue1").input_value() == "the thing number 1 at the window"
    assert frame.locator(".stage .box").count() == 1


def test_the_hit_page_sets_no_cookie_inside_the_frame(
    site: str,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    make_image: MakeImage,
) -> None:
    market.fund()
    published(project, [make_image(1)])
    market.market_worker("wilma")
    page = open_page()
    sign_in(page, "wilma")
    page.get_by_role("button", name="Start").first.click()
    page.frame_locator("iframe").get_by_role("button", name="I agree").wait_for()
    cookies = page.context.cookies(site.replace("localhost", "127.0.0.1"))
    assert cookies == []
    assert "localhost" in {cookie["domain"] for cookie in page.context.cookies()}


@pytest.mark.parametrize("host", ["outside.localhost", "127.0.0.2"])
def test_the_browser_knows_no_host_but_this_sites_two(chromium: Any, site: str, host: str) -> None:
    """Names and addresses of loopback itself, so that nothing leaves the machine when the flag is lost."""
    failures: list[str] = []
    page = chromium.new_page()
    page.on("requestfailed", lambda request: failures.append(request.failure))
    fetch = "async address => { try { await fetch(address, {mode: 'no-cors'}) } catch (error) { return 'failed' } }"
    address = site.replace("localhost", host)
    try:
        assert page.evaluate(fetch, f"{address}/healthz") == "failed"
    finally:
        page.close()
    assert failures == ["net::ERR_NAME_NOT_RESOLVED"]
