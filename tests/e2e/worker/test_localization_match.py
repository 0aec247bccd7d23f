"""Matching inferences to regions in a real browser: by keys alone, by dragging, with fingers on a phone."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from hits.models import Hit, Project, Submission
from hits.mturk.boto import marketplace
from hits.services.images.import_image import import_image
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing.publish import publish_batch
from tests.support import market
from tests.support.axe import check_page, check_width
from tests.support.box_editor import READY, agreed, plain_photo, task_address
from tests.support.judging.work import Work
from tests.support.loop import collected
from tests.support.pages import wait_until_seen
from tests.validation.services.test_localization import written
from validation.selectors import localization as selectors
from validation.services.localization import launch_localization

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
TEXTS = (
    "They keep a dog in this house",
    "Somebody will eat soon, perhaps within a few minutes, since it is hot",
    "It is late in the year",
    "The owner reads in the evening",
)
BOXES = ((40, 300, 120, 90), (260, 60, 200, 160), (520, 40, 90, 120), (430, 290, 160, 140))


@pytest.fixture
def hit(site: str, project: Project) -> Hit:
    """Return a published matching task about a photo of 640 × 480 with four regions."""
    market.fund()
    image = import_image(project=project, name="kitchen.jpg", data=plain_photo(640, 480))[0]
    written(Work(project), image, "AUTHOR", *zip(TEXTS, BOXES, strict=True))
    batch, _ = launch_localization(project=project, n=None, seed=1, by=None, terms=LaunchTerms(redundancy=2))
    publish_batch(batch=batch, marketplace=marketplace())
    return Hit.objects.get(unit__batch=batch)


def _open(page: Any, hit: Hit, worker: str = "wanda") -> market.Accepted:
    task = agreed(market.accept(hit, market.market_worker(worker)))
    page.goto(task_address(task))
    page.locator(READY).wait_for(state="attached")
    page.locator("#how").evaluate("how => { how.open = false; }")
    page.locator("#work:not([disabled])").wait_for()
    wait_until_seen(page)
    return task


def _letters(page: Any, hit: Hit) -> list[str]:
    """Return the true letter of each sentence, in the order of the page."""
    unit = hit.unit.payload
    letters = page.evaluate(
        "() => Object.fromEntries([...document.querySelectorAll('.slot')].map("
        "(slot) => [slot.dataset.region, slot.querySelector('.dot').textContent]))"
    )
    ids = page.evaluate(
        "() => [...document.querySelectorAll('.sentence')].map((row) => row.dataset.inference)"
    )
    return [letters[unit["truth"][key]] for key in ids]


def _chosen(page: Any) -> list[str]:
    """Return each sentence's letter on the page, "" for none."""
    return page.evaluate(
        "() => [...document.querySelectorAll('.sentence')].map("
        "(row) => row.querySelector('[aria-pressed=true] span')?.textContent ?? '')"
    )


def _middle(page: Any, letter: str) -> tuple[float, float]:
    """Return the middle of a region in the window."""
    box = page.locator(f"#photo g[role=img][aria-label^='Part {letter}'] .line").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _drag(page: Any, sentence: int, letter: str) -> None:
    box = page.locator(f"#s{sentence}").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(*_middle(page, letter), steps=6)
    page.mouse.up()


def test_inferences_are_matched_by_keyboard(hit: Hit, open_page: OpenPage) -> None:
    page = open_page()
    _open(page, hit)
    right = _letters(page, hit)
    assert "truth" not in page.content()
    page.locator("#m1 .letter").first.focus()
    for letter in right:
        page.keyboard.press(letter.lower())
        assert not page.locator(".stage--lit").count(), "going on to a sentence suggests no part"
    assert _chosen(page) == right
    page.keyboard.press("Control+z")
    assert _chosen(page) == [*right[:3], ""]
    assert page.locator("#count").inner_text() == "3 of 4 matched"
    # Arrows choose the sentence and go along its letters; Enter takes one.
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    while page.evaluate("document.activeElement.firstElementChild.textContent") != right[3]:
        page.keyboard.press("ArrowRight")
        letter = page.evaluate("document.activeElement.firstElementChild.textContent")
        assert (
            page.locator("g.region--lit[role=img]").get_attribute("aria-label").startswith(f"Part {letter},")
        )
    page.keyboard.press("Enter")
    assert _chosen(page) == right
    page.keyboard.press("Delete")
    assert _chosen(page) == [*right[:3], ""]
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: "/hit/" not in url)
    submission = Submission.objects.get(kind="localization_match")
    assert submission.answer == {
        "matches": [{"inference": one, "region": region} for one, region in hit.unit.payload["truth"].items()]
    }
    assert submission.active_seconds > 0
    collected(hit.unit.batch)
    assert selectors.load_human_baseline(hit.unit.batch.project)[1].accuracy == 100.0


def test_single_keys_can_be_turned_off(hit: Hit, open_page: OpenPage) -> None:
    page = open_page()
    _open(page, hit)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    check_page(page, "the shortcuts")
    dialog.get_by_role("button", name="Turn keys off").click()
    dialog.get_by_role("button", name="Close").click()
    page.keyboard.press("a")
    assert _chosen(page) == [""] * 4
    page.locator("#m1 .letter").nth(1).focus()
    page.keyboard.press("Enter")
    assert _chosen(page) == ["B", "", "", ""]


def test_inferences_are_matched_by_mouse(hit: Hit, open_page: OpenPage) -> None:
    page = open_page()
    _open(page, hit)
    _drag(page, 1, "C")
    _drag(page, 2, "A")
    assert _chosen(page) == ["C", "A", "", ""]
    # A part that is taken goes over, and the other sentence gets this one's in exchange.
    _drag(page, 1, "A")
    assert _chosen(page) == ["A", "C", "", ""]
    assert page.locator("#say").text_content() == "Sentence 1: part A. Sentence 2: part C."
    # Click a sentence, then a part; and a part below the photo.
    page.locator("#s3").click()
    page.mouse.click(*_middle(page, "D"))
    assert _chosen(page) == ["A", "C", "D", ""]
    page.locator(".slot", has_text="B").click()
    assert _chosen(page) == ["A", "C", "D", "B"]
    # Dropped beside every part, and given up half-way: nothing changes.
    box = page.locator("#s4").bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(*_middle(page, "A"), steps=4)
    assert page.locator(".ghost").is_visible()
    page.keyboard.press("Escape")
    page.mouse.up()
    assert not page.locator(".ghost").count()
    assert _chosen(page) == ["A", "C", "D", "B"]
    page.locator("#undo").click()
    assert _chosen(page) == ["A", "C", "D", ""]


def test_missing_matches_are_shown_and_draft_is_restored(hit: Hit, open_page: OpenPage) -> None:
    page = open_page()
    _open(page, hit)
    page.keyboard.press("b")
    page.get_by_role("button", name="Submit").click(force=True)
    assert page.locator("#say").text_content() == "Not complete yet: Sentence 2."
    assert page.evaluate("document.activeElement.closest('.sentence').id") == "m2"
    page.locator("#save").get_by_text("Saved").wait_for()
    chosen, order = _chosen(page), page.locator(".inference-list").inner_text()
    page.reload()
    page.locator(READY).wait_for(state="attached")
    assert _chosen(page) == chosen == ["B", "", "", ""]
    assert page.locator(".inference-list").inner_text() == order


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_matching_task_is_accessible(hit: Hit, open_page: OpenPage, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    task = market.accept(hit, market.market_worker("wanda"))
    page.goto(task_address(agreed(task)))
    page.locator(READY).wait_for(state="attached")
    check_page(page, "at a first visit")
    page.get_by_role("button", name="Submit").click(force=True)
    page.keyboard.press("a")
    page.keyboard.press("b")
    for width in (1920, 1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        check_page(page, f"half done, {width} px")
        check_width(page, f"half done, {width} px")


def test_inferences_are_matched_by_touch_on_a_phone(hit: Hit, open_page: OpenPage) -> None:
    page = open_page(**PHONE)
    _open(page, hit)
    page.locator("#m1").scroll_into_view_if_needed()
    page.locator("#m1 .letter").nth(2).tap()
    assert _chosen(page)[0] == "C"
    # A finger on the grip drags; elsewhere on the card it would scroll.
    session = page.context.new_cdp_session(page)
    grip = page.locator("#m2 .grip-handle").bounding_box()
    start = (grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2)
    end = _middle(page, "A")

    def send(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y, "id": 1} for x, y in points]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    send("touchStart", start)
    for step in range(1, 7):
        send("touchMove", tuple(a + (b - a) * step / 6 for a, b in zip(start, end, strict=True)))
    page.locator(".ghost").wait_for()
    send("touchEnd")
    page.locator("#m2 .letter[aria-pressed=true]").wait_for()
    assert _chosen(page)[:2] == ["C", "A"]
    photo, bar = page.locator("#stage").bounding_box(), page.locator(".submitbar").bounding_box()
    assert photo["y"] >= -1, "the photo stays in view"
    assert bar["y"] + bar["height"] <= 845


def test_localization_page_launches_and_shows_errors(
    hit: Hit, project: Project, researcher: User, open_page: OpenPage, sign_in: Any
) -> None:
    truth = hit.unit.payload["truth"]
    regions = list(truth.values())
    swapped = dict(zip(truth, [regions[1], regions[0], *regions[2:]], strict=True))
    for worker, chosen in (("wanda", truth), ("wim", swapped)):
        answer = {"matches": [{"inference": one, "region": region} for one, region in chosen.items()]}
        market.work(hit, market.market_worker(worker), answer)
    collected(hit.unit.batch)
    other = import_image(project=project, name="other.jpg", data=plain_photo(640, 500))[0]
    written(Work(project, count=50), other, "AUTHOR", *zip(TEXTS, BOXES, strict=True))
    page = open_page()
    sign_in(page, "rosa")
    for width in (1920, 1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(reverse("localization", args=[project.slug]))
        check_page(page, f"results at {width}")
        check_width(page, f"results at {width}")
    assert "75.0%" in page.locator(".stats").inner_text()
    assert page.locator(".matched .others li").count() == 2
    page.get_by_role("button", name="See what it costs").click()
    check_page(page, "the cost")
    page.get_by_role("button", name="Launch 1 task, hold $1.00").click()
    page.get_by_text("Matching of 1 photo is launched").wait_for()
