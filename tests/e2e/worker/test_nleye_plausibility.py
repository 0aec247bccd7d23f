"""Judging the plausibility of image triplets in a real browser: keys alone, touch alone, reloads, the viewer."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from hits.models import Project, Submission
from tests.support import market
from tests.support.axe import ALL_SIZES, check_page, check_sizes, check_width
from tests.support.nleye_units import WHY, opened, plausibility_unit, reloaded, submitted, three_images

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
KIND = "triplet_plausibility"
EVERY = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]
SIZES = EVERY if ALL_SIZES else [(390, "light"), (1280, "dark")]
OPEN = ".ask--open"
FINGER = 44  # CSS pixels


@pytest.fixture
def images(site: str, project: Project) -> dict[str, int]:
    market.fund()
    return three_images(project)


def order(page: Any) -> list[str]:
    """Return the hypotheses as the page shows them."""
    return list(page.locator("input[name=choice]").evaluate_all("all => all.map((one) => one.value)"))


def shown_tiles(page: Any) -> list[str]:
    """Return the tiles whose image is in sight."""
    tiles: list[str] = page.locator(".tile").evaluate_all(
        "all => all.filter((t) => t.querySelector('.tile-open').checkVisibility()).map((t) => t.dataset.tile)"
    )
    return tiles


def test_keys_alone_give_a_whole_answer(
    open_page: OpenPage, project: Project, images: dict[str, int]
) -> None:
    page = open_page()
    opened(page, project, KIND, plausibility_unit(images, cannot_tell=True))
    expect(page.locator(".asks input:checked")).to_have_count(0)
    check_sizes(page, "choice", SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    first, second = order(page)[:2]
    page.keyboard.press("5")
    page.keyboard.press("a")
    expect(page.locator(".asks input:checked")).to_have_count(0)  # keys of later questions do nothing yet
    page.keyboard.press("=")
    expect(page.locator("input[name=choice]:checked")).to_have_value("equal")
    page.keyboard.press("2")
    expect(page.locator("input[name=choice]:checked")).to_have_value(second)
    page.keyboard.press("Enter")
    expect(page.locator("#why")).to_be_focused()
    page.keyboard.type("12zs")
    expect(page.locator("#why")).to_have_value("12zs")  # keys are letters in a text field
    expect(page.locator("input[name=choice]:checked")).to_have_value(second)
    expect(page.locator("#viewer")).to_be_hidden()
    page.keyboard.press("Control+a")
    page.keyboard.type(WHY)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("d")
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    assert shown_tiles(page) == ["premise", first], "the other hypothesis is hidden"
    check_sizes(page, "a rating", SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    assert shown_tiles(page) == ["premise", second]
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(page.locator("#submit")).to_be_focused()
    assert submitted(page) == {
        "choice": second,
        "why": WHY,
        "certainty": "somewhat",
        "ratings": {first: 2, second: 5},
    }
    assert (Submission.objects.get().shown or {})["order"] == [first, second]


def test_answers_and_open_question_survive_a_reload_at_each_step(
    open_page: OpenPage, project: Project, images: dict[str, int]
) -> None:
    page = open_page()
    opened(page, project, KIND, plausibility_unit(images))
    first, second = order(page)
    steps: list[tuple[str, Callable[[], None]]] = [
        ("choice", lambda: page.keyboard.press("1")),
        ("why", lambda: page.fill("#why", WHY)),
        ("certainty", lambda: page.keyboard.press("a")),
        (first, lambda: page.keyboard.press("4")),
        (second, lambda: page.keyboard.press("1")),
    ]
    for name, answer in steps:
        expect(page.locator(OPEN)).to_have_attribute("data-ask", name)
        answer()
        reloaded(page)
        expect(page.locator(OPEN)).to_have_attribute("data-ask", name)
        assert order(page) == [first, second], "the order stays, too"
        page.locator(f"{OPEN} [data-next]").click()
    assert shown_tiles(page) == ["premise", second]
    # An earlier answer can be changed, and those after it stay.
    page.locator("[data-ask=choice] .ask-head").click()
    assert shown_tiles(page) == ["premise", first, second]
    page.keyboard.press("2")
    expect(page.locator("#gaps a")).to_have_count(0)
    answer = submitted(page)
    assert answer == {
        "choice": second, "why": WHY, "certainty": "certain", "ratings": {first: 4, second: 1},
    }  # fmt: skip


def test_touch_alone_gives_a_whole_answer_on_a_phone(
    open_page: OpenPage, project: Project, images: dict[str, int]
) -> None:
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    opened(page, project, KIND, plausibility_unit(images))
    premise, *others = (page.locator(".tile-open").nth(n).bounding_box() for n in range(3))
    assert premise["width"] >= 340, "the context takes the whole width"
    assert others[0]["width"] == pytest.approx(others[1]["width"], abs=1)
    assert others[0]["y"] == pytest.approx(others[1]["y"], abs=1)
    assert others[0]["y"] > premise["y"] + premise["height"]

    def tap(selector: str) -> None:
        part = page.locator(selector)
        part.scroll_into_view_if_needed()
        box = part.bounding_box()
        assert min(box["height"], box["width"]) >= FINGER, f"{selector} is too small for a finger"
        part.tap()

    first, second = order(page)
    tap(f"label:has(input[name=choice][value={first}])")
    tap(f"{OPEN} [data-next]")
    tap("#why")
    page.keyboard.insert_text(WHY)
    tap(f"{OPEN} [data-next]")
    tap("label:has(input[value=uncertain])")
    tap(f"{OPEN} [data-next]")
    check_width(page, "a rating on a phone")
    tap(f"label:has(input[name=rating-{first}][value='5'])")
    tap(f"{OPEN} [data-next]")
    tap(f"label:has(input[name=rating-{second}][value='3'])")
    with page.expect_request("**/mturk/externalSubmit"):
        page.locator("#submit[aria-disabled=false]").tap()
    assert Submission.objects.get().answer == {
        "choice": first, "why": WHY, "certainty": "uncertain", "ratings": {first: 5, second: 3},
    }  # fmt: skip


def shown_image(page: Any) -> tuple[str, float, float]:
    """Return the viewer's image: its name, its width in CSS pixels and the share of it at the left edge."""
    found = page.evaluate("""() => {
        const [img, room] = ['viewer-image', 'viewer-room'].map((id) => document.getElementById(id));
        const [box, frame] = [img.getBoundingClientRect(), room.getBoundingClientRect()];
        return [img.alt, box.width, (frame.left - box.left) / box.width];
    }""")
    return found[0], found[1], found[2]


def test_viewer_has_all_images_in_order_with_one_zoom(
    open_page: OpenPage, project: Project, site: str
) -> None:
    market.fund()
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    opened(page, project, KIND, plausibility_unit(three_images(project, size=1024)))
    page.locator(".tile-open").nth(1).tap()
    expect(page.locator("#viewer-image")).to_have_attribute("alt", "Image 1")
    expect(page.locator("#viewer-count")).to_have_text("2 of 3")
    check_page(page, "the viewer")
    assert shown_image(page)[1] == pytest.approx(390, abs=1), "the whole width of the phone"
    fingers = Fingers(page)
    fingers.swipe(80, 300)
    expect(page.locator("#viewer-image")).to_have_attribute("alt", "Context")
    fingers.swipe(80, 300)
    expect(page.locator("#viewer-image")).to_have_attribute("alt", "Context")  # there is none before it
    fingers.pinch(195, 400, start=60, end=180)
    name, width, left = shown_image(page)
    assert name == "Context"
    assert width == pytest.approx(3 * 390, rel=0.02), "a pinch of three"
    assert left == pytest.approx(1 / 3, abs=0.02), "what was between the fingers stays there"
    page.keyboard.press("ArrowRight")
    name, *zoomed = shown_image(page)
    assert (name, zoomed) == ("Image 1", [pytest.approx(width), pytest.approx(left, abs=0.01)])
    page.keyboard.press("0")
    assert shown_image(page)[1] == pytest.approx(390, abs=1)
    page.keyboard.press("Escape")
    expect(page.locator("#viewer")).to_be_hidden()
    page.keyboard.press("z")
    expect(page.locator("#viewer-image")).to_have_attribute("alt", "Image 1")
    page.keyboard.press("z")
    expect(page.locator("#viewer")).to_be_hidden()
    expect(page.locator("input[name=choice]:checked")).to_have_count(0)


class Fingers:
    """Fingers on the screen, in one session: the browser follows each from down to up."""

    def __init__(self, page: Any) -> None:
        self.session = page.context.new_cdp_session(page)

    def _send(self, kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def swipe(self, start: float, end: float, *, y: float = 400) -> None:
        """Move one finger from one x to another."""
        self._send("touchStart", (start, y))
        for share in (0.4, 0.8, 1):
            self._send("touchMove", (start + (end - start) * share, y))
        self._send("touchEnd")

    def pinch(self, x: float, y: float, *, start: float, end: float) -> None:
        """Spread two fingers around a point from one distance to another."""
        self._send("touchStart", (x - start / 2, y))
        self._send("touchStart", (x - start / 2, y), (x + start / 2, y))
        for step in range(1, 5):
            span = start + (end - start) * step / 4
            self._send("touchMove", (x - span / 2, y), (x + span / 2, y))
        self._send("touchEnd")


def test_other_shapes_ask_less_and_show_less(
    open_page: OpenPage, project: Project, images: dict[str, int]
) -> None:
    page = open_page()
    asked = {"texts": 5, "hypotheses_only": 2, "pair": 1}
    for show, questions in asked.items():
        opened(page, project, KIND, plausibility_unit(images, show=show, triplet=show), worker=show[:5])
        expect(page.locator(".ask")).to_have_count(questions)
        expect(page.locator(".tile-open")).to_have_count(0 if show == "texts" else 2)
        check_sizes(page, show, SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    assert submitted(page) == {"ratings": {"h2": 4}}


def test_preview_shows_all_questions_without_taking_answers(
    open_page: OpenPage, project: Project, images: dict[str, int]
) -> None:
    page = open_page()
    address = opened(page, project, KIND, plausibility_unit(images))
    page.goto(address.partition("?")[0])
    page.locator("html[data-ready=true]").wait_for(state="attached")
    expect(page.locator(".ask-body:visible")).to_have_count(5)
    page.keyboard.press("1")
    expect(page.locator(".asks input:checked")).to_have_count(0)
    page.keyboard.press("z")
    expect(page.locator("#viewer")).to_be_visible()
