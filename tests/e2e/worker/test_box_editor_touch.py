"""Fingers: one draws, two move and zoom the photo, a tap selects; and a phone on which somebody types."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.box_editor import Task
from tests.support.pages import give_time, wait_until_seen

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenTask = Callable[..., Task]
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


class Fingers:
    """Real touches, as the browser's own input layer makes them."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.session = task.page.context.new_cdp_session(task.page)
        self.down: dict[int, tuple[float, float]] = {}

    def put(self, **places: tuple[float, float]) -> None:
        """Put fingers on photo points: ``a=(x, y)``."""
        for name, (x, y) in places.items():
            self.down[ord(name)] = self.task.at(x, y)
            self._send("touchStart")

    def slide(self, steps: int = 4, **places: tuple[float, float]) -> None:
        """Slide fingers by CSS pixels, all together."""
        for _ in range(steps):
            for name, (dx, dy) in places.items():
                x, y = self.down[ord(name)]
                self.down[ord(name)] = x + dx / steps, y + dy / steps
            self._send("touchMove")
        # The browser hands moves over with its next picture: on a busy machine the last one is still on its way.
        self.task.page.evaluate(TWO_FRAMES)

    def lift(self, names: str) -> None:
        """Lift fingers one after the other."""
        for name in names:
            del self.down[ord(name)]
            self._send("touchEnd")

    def tap(self, x: float, y: float) -> None:
        """Touch a photo point and let go."""
        self.put(a=(x, y))
        self.lift("a")

    def _send(self, kind: str) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in self.down.items()]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def _scale(task: Task) -> int:
    return int(task.root.locator("#zoom").text_content().strip("%"))


def test_one_finger_draws_two_move_and_zoom_and_nothing_is_left_over(open_task: OpenTask) -> None:
    task = open_task((1920, 1080), **PHONE)
    fingers = Fingers(task)
    fingers.put(a=(400, 300))
    fingers.slide(a=(60, 40))
    fingers.lift("a")
    assert len(task.boxes()) == 1
    drawn = task.boxes()

    # The first finger has begun a box when the second lands: it is taken back.
    task.page.keyboard.press("Escape")
    before = _scale(task)
    middle = task.at(960, 600)
    fingers.put(a=(700, 600))
    fingers.slide(a=(0, 20))
    fingers.slide(a=(0, -20))
    fingers.put(b=(1220, 600))
    fingers.slide(a=(-60, 0), b=(60, 0))
    assert task.boxes() == drawn
    assert _scale(task) > 1.5 * before
    assert task.at(960, 600) == pytest.approx(middle, abs=3), "about their middle"
    zoomed = _scale(task)
    fingers.put(c=(960, 620))  # a third one changes nothing
    fingers.slide(c=(30, 30))
    assert _scale(task) == zoomed
    fingers.slide(a=(-30, 15), b=(-30, 15))
    assert task.at(960, 600) == pytest.approx((middle[0] - 30, middle[1] + 15), abs=3), "they move it as well"
    fingers.lift("b")
    fingers.slide(a=(40, 40))  # what is left on the glass draws nothing
    fingers.lift("ca")
    assert task.boxes() == drawn
    assert task.root.locator(".box--draft").count() == 0
    assert task.page.evaluate("visualViewport.scale") == 1, "the page itself is not zoomed"

    fingers.put(a=(960, 600))  # and the next finger alone draws again
    fingers.slide(a=(50, 30))
    fingers.lift("a")
    assert len(task.boxes()) == 2


def test_a_tap_selects_and_grips_are_large_enough_for_a_finger(open_task: OpenTask) -> None:
    task = open_task((640, 480), **PHONE)
    fingers = Fingers(task)
    for start, (dx, dy) in (((100, 100), (120, 90)), ((120, 120), (60, 40))):
        task.root.locator("[data-tool=draw]").click()
        fingers.put(a=start)
        fingers.slide(a=(dx, dy))
        fingers.lift("a")
    outer, inner = task.boxes()
    assert outer[0] < inner[0]
    task.page.keyboard.press("Escape")
    inside = (inner[0] + 20, inner[1] + 20)
    seen = []
    for _ in range(3):
        fingers.tap(*inside)
        seen.append(task.root.locator(".box--on").get_attribute("aria-label").split(":")[0][-2:])
    assert seen == ["1b", "1a", "1b"], "a second tap goes on to the one below"

    for grip in task.root.locator(".handle .grab").all():
        size = grip.evaluate("g => { const r = g.getBoundingClientRect(); return [r.width, r.height]; }")
        assert min(size) >= 40
    # Taken 15 px beside its corner, which no mouse could.
    k = task.width / task.root.locator("#photo").bounding_box()["width"]
    corner = (inner[0] + inner[2], inner[1] + inner[3])
    fingers.put(a=(corner[0] + 15 * k, corner[1] + 15 * k))
    fingers.slide(a=(40, 30))
    fingers.lift("a")
    changed = task.boxes()[1]
    assert changed[:2] == inner[:2]
    assert changed[2:] == pytest.approx((inner[2] + 40 * k, inner[3] + 30 * k), abs=1)
    # A tap within reach of that grip, on the other box, selects the other box: a grip takes drags, not its neighbour.
    fingers.tap(changed[0] + changed[2] + 12 * k, changed[1] + changed[3] - 4 * k)
    assert "1a" in task.root.locator(".box--on").get_attribute("aria-label")


def test_typing_on_a_phone_leaves_room_for_the_text(open_task: OpenTask) -> None:
    """With an on-screen keyboard half of the window is gone; nothing may stand still in the other half."""
    task = open_task((640, 480), **PHONE)
    page = task.page
    box = task.root.locator(".canvas").bounding_box()
    assert box["height"] <= 0.62 * 844, "toolbar, photo and its line leave room for a card"
    assert task.root.locator("#gaps li:visible").count() == 1, "the bar shows the next gap only"
    page.set_viewport_size({"width": 390, "height": 430})  # the keyboard came up
    field = task.root.locator("#inf1")
    field.tap()
    page.keyboard.type("Somebody left in a hurry")
    wait_until_seen(page)
    free = {"inView": True, "covered": False}
    give_time(page, lambda: bool(field.evaluate(_COVERED) == free))
    seen: Any = field.evaluate(_COVERED)
    assert seen == free
    for selector in (".canvas", ".submitbar"):
        assert task.root.locator(selector).evaluate("e => getComputedStyle(e).position") == "static"


# Whether the focused field lies in the window, and whether something lies over it.
_COVERED = """field => {
  const r = field.getBoundingClientRect();
  const [x, y] = [r.left + r.width / 2, r.top + r.height / 2];
  return { inView: r.top >= 0 && r.bottom <= innerHeight, covered: document.elementFromPoint(x, y) !== field };
}"""
