"""Drawing with a mouse: exact pixels at any zoom, overlap, panning, and drags that end in odd ways."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.box_editor import Box, Task, report
from tests.support.pages import give_time, until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenTask = Callable[..., Task]


def _expected(start: tuple[float, float], end: tuple[float, float]) -> Box:
    """Return the box between two points that are pointed at: each edge at the nearest pixel, halves up."""
    (left, right), (top, bottom) = sorted((start[0], end[0])), sorted((start[1], end[1]))
    x, y = math.floor(left + 0.5), math.floor(top + 0.5)
    return x, y, math.floor(right + 0.5) - x, math.floor(bottom + 0.5) - y


def _points(task: Task, rng: random.Random) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return two whole photo points in view, far enough apart for a box."""
    left, top, right, bottom = task.visible()
    margin = 6 * (right - left) / 400  # clear of the window's edges

    def corner(near: float, far: float) -> tuple[int, int]:
        span_x, span_y = right - left - 2 * margin, bottom - top - 2 * margin
        return (
            int(left + margin + span_x * rng.uniform(near, far)),
            int(top + margin + span_y * rng.uniform(near, far)),
        )

    return corner(0, 0.4), corner(0.6, 1)


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((320, 240), id="small", marks=pytest.mark.long),
        pytest.param((1920, 1080), id="hd"),
        pytest.param((6000, 4000), id="huge", marks=pytest.mark.long),
    ],
)
def test_a_drag_between_two_photo_points_gives_exactly_these(
    open_task: OpenTask, open_page: Callable[..., Any], size: tuple[int, int]
) -> None:
    """On three kinds of screen, fitted and from 50 % to 400 % and beyond; no zoom changes what was drawn."""
    first = open_task(size)
    for dpr in (1, 1.25, 2):
        page = first.page if dpr == 1 else open_page(device_scale_factor=dpr)
        task = replace(first, page=page, root=page)
        if dpr > 1:
            page.goto(task.address)
            task.ready().fold()
        _draw_at_every_zoom(task, random.Random(f"{dpr} {size}"))
        page.close()


def _draw_at_every_zoom(task: Task, rng: random.Random) -> None:
    expected = task.boxes()
    for percent in (None, 50, 100, 150, 400, 800):
        if percent is not None:
            task.zoom_to(percent)
        start, end = _points(task, rng)
        task.root.locator("[data-tool=draw]").click()
        task.drag(start, end, steps=1)
        expected.append(_expected(start, end))
        assert task.boxes() == expected, f"at {percent} %"
    task.root.locator("[data-tool=fit]").click()
    assert task.boxes() == expected
    task.wait_saved()


def test_between_two_pixels_the_nearer_one_is_meant(open_task: OpenTask) -> None:
    task = open_task((640, 480))
    task.zoom_to(400)
    left, top, *_ = (math.ceil(v) for v in task.visible())
    start, end = (left + 10.45, top + 10.55), (left + 40.3, top + 30.8)
    task.drag(start, end)
    assert task.boxes() == [(left + 10, top + 11, 30, 20)] == [_expected(start, end)]


def test_a_drag_from_or_to_beyond_the_photo_stops_at_its_edge(open_task: OpenTask) -> None:
    """A box can lie flush with every border, and its grips can still be taken there."""
    task = open_task((320, 480))  # a portrait, so that the frame is wider than the photo
    task.drag((-20, 100), (120, 200))
    task.page.keyboard.press("Escape")
    task.drag((200, 300), (500, 900))
    assert task.boxes() == [(0, 100, 120, 100), (200, 300, 120, 180)]
    task.drag((319, 479), (299, 449))  # the corner grip, on the photo's own corner
    assert task.boxes()[1] == (200, 300, 100, 150)
    task.click(60, 150)
    task.drag((1, 101), (21, 111))
    assert task.boxes()[0] == (20, 110, 100, 90)


def test_the_wheel_zooms_at_the_pointer_only_with_ctrl(open_task: OpenTask) -> None:
    task = open_task((1920, 1080))
    page = task.page
    before = tuple(float(round(v)) for v in task.at(1400, 300))  # wheel events come in whole pixels
    page.mouse.move(*before)
    spot = task.under(*before)

    def percent() -> int:
        return int(task.root.locator("#zoom").text_content().strip("%"))

    page.keyboard.down("Control")
    for _ in range(6):
        shown = percent()
        page.mouse.wheel(0, -100)
        until(page, lambda shown=shown: percent() > shown, "a turn of the wheel did not zoom")
    page.keyboard.up("Control")
    assert percent() > 120
    after = task.at(*spot)
    assert after == pytest.approx(before, abs=1.5)
    assert page.evaluate("[visualViewport.scale, devicePixelRatio]") == [1, 1], (
        "the page itself is not zoomed"
    )

    # A plain wheel now pans the photo, and leaves the page where it is.
    page.evaluate("document.addEventListener('scrollend', () => { window.isScrolled = true; }, true)")
    page.mouse.wheel(60, 40)
    until(page, lambda: page.evaluate("window.isScrolled"), "the wheel did not pan the photo")
    assert task.at(*spot) == pytest.approx((after[0] - 60, after[1] - 40), abs=1)
    assert page.evaluate("scrollY") == 0
    # Fitted again, it scrolls the page.
    task.root.locator("[data-tool=fit]").click()
    page.set_viewport_size({"width": 1280, "height": 500})
    page.mouse.move(*task.at(*spot))
    page.mouse.wheel(0, 120)
    give_time(page, lambda: bool(page.evaluate("scrollY > 0")))
    assert page.evaluate("scrollY") > 0


def test_buttons_zoom_about_the_selected_box_and_the_photo_is_moved_in_three_ways(
    open_task: OpenTask,
) -> None:
    task = open_task((1920, 1080))
    task.drag((1500, 800), (1600, 900))
    before = task.at(1550, 850)
    task.root.locator("[data-tool=in]").click()
    assert task.at(1550, 850) == pytest.approx(before, abs=1.5)
    task.zoom_to(200)
    x, y = task.at(1550, 850)

    def moved(by: Callable[[], None]) -> tuple[float, float]:
        start = task.at(0, 0)
        by()
        end = task.at(0, 0)
        return end[0] - start[0], end[1] - start[1]

    def pull(button: str = "left") -> None:
        task.page.mouse.move(x, y)
        task.page.mouse.down(button=button)
        task.page.mouse.move(x - 70, y - 30, steps=3)
        task.page.mouse.up(button=button)

    def with_space() -> None:
        task.page.mouse.move(x, y)
        task.page.keyboard.down(" ")
        pull()
        task.page.keyboard.up(" ")

    assert moved(with_space) == pytest.approx((-70, -30), abs=1)
    assert moved(lambda: pull("middle")) == pytest.approx((-70, -30), abs=1)
    task.root.locator("[data-tool=hand]").click()
    assert moved(pull) == pytest.approx((-70, -30), abs=1)
    assert len(task.boxes()) == 1, "none of them drew"
    task.root.locator("[data-tool=one]").click()
    assert task.root.locator("#zoom").text_content() == "100%"


def test_pressing_again_goes_round_the_boxes_under_the_pointer(open_task: OpenTask) -> None:
    task = open_task()
    for box in (((100, 100), (400, 400)), ((150, 150), (350, 350)), ((200, 200), (300, 300))):
        task.root.locator("[data-tool=draw]").click()
        task.drag(*box)
    task.page.keyboard.press("Escape")
    seen = []
    for number in (1, 2, 3, 1):
        task.click(250, 250)
        seen.append(task.root.locator(".box--on").get_attribute("aria-label").split(":")[0].split()[-1])
        assert f"{number} of 3 here" in task.announcement()
        assert f"{number} of 3 here" in task.root.locator("#hint").text_content()
    assert seen == ["1c", "1b", "1a", "1c"], "smallest first"


def test_no_drag_is_ever_stuck(open_task: OpenTask) -> None:
    task = open_task()
    page, mouse = task.page, task.page.mouse

    def begin() -> None:
        task.root.locator("[data-tool=draw]").click()
        mouse.move(*task.at(100, 100))
        mouse.down()
        mouse.move(*task.at(200, 200), steps=3)

    def none_is_on() -> None:
        known = task.boxes()
        mouse.move(*task.at(300, 250), steps=3)
        assert task.root.locator(".box--draft").count() == 0
        mouse.up()
        assert task.boxes() == known
        mouse.move(*task.at(50, 50), steps=2)
        assert task.boxes() == known

    begin()
    page.keyboard.press("Escape")  # takes it back, although the button is still down
    none_is_on()
    assert task.boxes() == []

    begin()
    page.evaluate("window.dispatchEvent(new Event('blur'))")
    none_is_on()
    assert task.boxes() == [(100, 100, 100, 100)], "what was drawn is kept"

    begin()  # the other button during a drag, and the first one released while it is held
    mouse.down(button="right")
    mouse.up()
    mouse.move(*task.at(300, 260), steps=3)
    assert task.root.locator(".box--draft").count() == 0
    mouse.up(button="right")
    assert len(task.boxes()) == 2

    mouse.move(*task.at(400, 100))
    mouse.down(button="right")  # the right button alone draws nothing
    mouse.move(*task.at(500, 200), steps=3)
    mouse.up(button="right")
    assert len(task.boxes()) == 2

    begin()
    page.evaluate("document.getElementById('stage').releasePointerCapture(1)")
    mouse.move(*task.at(201, 201))  # with the next event the browser tells of it
    none_is_on()
    assert len(task.boxes()) == 3


def test_fifty_boxes_stay_fluid_and_the_limit_is_announced(open_task: OpenTask, record_property: Any) -> None:
    task = open_task((1920, 1080))
    rng = random.Random(5)
    for card, count in ((1, 20), (2, 20), (3, 10)):
        if card > 1:
            _turn_to(task, card)
        for _ in range(count):
            task.root.locator("#photo").focus()
            task.page.keyboard.press("b")
    assert len(task.boxes()) == 50
    _turn_to(task, 1)
    task.drag((rng.randint(10, 90), 10), (200, 90))
    assert len(task.boxes()) == 50
    assert "No more than 20 boxes" in task.root.locator("#hint").text_content()
    assert "No more than 20 boxes" in task.announcement()

    task.root.locator("#photo").evaluate(_WATCH_FRAMES)
    task.click(960, 540)
    task.drag((960, 540), (1300, 700), steps=60)
    frames = task.page.evaluate("window.slowest")
    report(record_property, "longest_task_ms_among_50_boxes", frames)
    assert len(task.boxes()) == 50


def _turn_to(task: Task, card: int) -> None:
    """Open another observation, and wait until boxes are drawn for it: browsers tell of the opening afterwards."""
    task.root.locator(f"#o{card} summary").click()
    task.root.locator("#hint").filter(has_text=f"for observation {card}.").wait_for(state="attached")


# Long tasks of the main thread while dragging (the API tells of those over 50 ms).
_WATCH_FRAMES = """() => {
  window.slowest = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.slowest = Math.max(window.slowest, entry.duration);
  }).observe({ type: 'longtask' });
}"""
