"""Writing a scene by keys alone, and judging one by touch, in a real browser."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from hits import registry
from hits.models import Hit, Project, Submission
from tests.support import market
from tests.support.axe import check_page, check_sizes, check_width
from tests.support.box_editor import READY, agreed, task_address
from tests.support.pages import wait_until_seen
from tests.support.play import Play

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "light")]
MOST_TABS = 30


def opened(page: Any, project: Project, kind: str, **unit: Any) -> None:
    """Launch a kind's sample unit with changes, take it and open its page."""
    market.fund()
    play = Play(registry.get_kind(kind), project, [])
    play.sample["unit"] |= unit
    play.unit = play.kind.parse_unit(play.sample["unit"])
    hit = Hit.objects.get(unit__batch=play.launched())
    page.goto(task_address(agreed(market.accept(hit, market.market_worker("wanda")))))
    ready(page)


def ready(page: Any) -> None:
    page.locator(READY).wait_for(state="attached")
    page.locator("#how").evaluate("how => { how.open = false; }")
    page.locator("#work:not([disabled])").wait_for()
    wait_until_seen(page)


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab does not reach {selector}")


def write(page: Any, name: str, text: str) -> None:
    tab_to(page, f"#{name}")
    page.keyboard.insert_text(text)


def test_scene_is_written_by_keys_alone_and_survives_a_reload(open_page: OpenPage, project: Project) -> None:
    page = open_page()
    opened(page, project, "nleye_scene", category="physical")
    expect(page.locator(".asked")).to_contain_text("physical: matter, shape, heat, light and shadow")
    expect(page.locator("input[type=radio][name=category]")).to_have_count(0)
    write(page, "premise", "He sees a dog with muddy paws on a doormat.")
    write(page, "plausible", "The dog digs a hole in a flower bed.")
    expect(page.locator("#differ")).to_contain_text("as soon as both hypotheses are written")
    write(page, "implausible", "The dog digs a hole in a flower bed")
    expect(page.locator("#differ")).to_contain_text("nothing, both have the same words")
    expect(page.locator("#gaps")).to_contain_text("Less plausible hypothesis: it has the same words")
    for _ in "flower bed":
        page.keyboard.press("Backspace")
    page.keyboard.insert_text("snowdrift.")
    expect(page.locator(".differ-pair")).to_have_text("flower bed→becomessnowdrift")
    tab_to(page, "[name=direction]")
    page.keyboard.press("ArrowRight")  # backward
    tab_to(page, "[name=duration]")
    page.keyboard.press("Space")  # short
    tab_to(page, "#domain")
    page.keyboard.type("Rel")
    write(page, "why", "Snow leaves no mud.")
    hint = page.locator("[data-hints='1'] .hint")
    expect(hint).to_contain_text("Who or what is He?")
    check_sizes(page, "scene with a hint", SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    hint.get_by_role("button", name="Ignore").press("Enter")
    expect(page.locator(".hint")).to_have_count(0)
    page.locator("#save").get_by_text("Saved").wait_for()
    shown = page.locator(".judge-pair").inner_text()
    assert "flower bed" in shown
    assert "plausible" not in shown

    page.reload()
    ready(page)
    expect(page.locator("#gaps a")).to_have_count(0)
    assert page.locator(".judge-pair").inner_text() == shown, "the order stays"
    expect(page.locator(".differ-pair")).to_have_text("flower bed→becomessnowdrift")
    page.locator("#why").focus()
    with page.expect_request("**/mturk/externalSubmit"):
        page.keyboard.press("Control+Enter")
    submission = Submission.objects.get()
    assert submission.answer == {
        "premise": "He sees a dog with muddy paws on a doormat.",
        "plausible": "The dog digs a hole in a flower bed.",
        "implausible": "The dog digs a hole in a snowdrift.",
        "category": "physical", "direction": "backward", "duration": "short", "domain": "religion",
        "culture": "", "why": "Snow leaves no mud.",
    }  # fmt: skip
    assert [(row["rule"], row["dismissed"]) for row in submission.hints] == [("unclear_pronoun", True)]


def test_fields_of_some_scenes_appear_and_leave(open_page: OpenPage, project: Project) -> None:
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    opened(page, project, "nleye_scene")
    assert page.locator("#guide").get_attribute("open") is None, "on a phone the form comes first"
    expect(page.locator("#culture")).to_be_hidden()
    for card in page.locator(".radio-card").all():
        assert card.bounding_box()["height"] >= 44, "fingers hit it"
    page.locator(".radio-card", has_text="Cultural").tap()
    expect(page.locator("#culture")).to_be_visible()
    page.locator(".radio-card", has_text="Long").tap()
    page.locator(".radio-card", has_text="Parallel").tap()
    expect(page.locator("#no-duration")).to_be_visible()
    expect(page.locator("[name=duration][value=long]")).to_be_disabled()
    expect(page.locator("#gaps")).not_to_contain_text("time")
    page.locator(".radio-card", has_text="Forward").tap()
    expect(page.locator("[name=duration][value=long]")).to_be_checked()
    page.locator("#plausible").fill("x" * 409)
    expect(page.locator("#plausible-count")).to_have_text("1 word, 409 of 400 characters")
    expect(page.locator("#gaps")).to_contain_text("More plausible hypothesis: 9 characters too many")
    check_width(page, "a long word")


def test_phone_scene_is_judged_by_touch(open_page: OpenPage, project: Project) -> None:
    page = open_page(390, 800, has_touch=True, is_mobile=True)
    opened(page, project, "scene_review")
    config = page.locator("#hit-config").text_content()
    assert "0123456789abcdef0123456789abcdef" not in config, "the scene's id stays with us"
    order = [radio.get_attribute("value") for radio in page.locator("#q1 input").all()]
    for number, value in ((1, order[0]), (2, "yes"), (3, "no"), (4, "yes")):
        target = page.locator(f"#q{number} label:has([value={value}])")
        target.scroll_into_view_if_needed()
        assert target.bounding_box()["height"] >= 44, "fingers hit it"
        target.tap()
    expect(page.locator("#count")).to_contain_text("4 of 4")
    expect(page.locator("#gaps")).to_contain_text("write where you have seen it")
    page.locator("#like").fill("a picture book")
    page.locator("#save").get_by_text("Saved").wait_for()
    check_page(page, "all judged")
    page.reload()
    ready(page)
    expect(page.locator("#like")).to_have_value("a picture book")
    page.locator("#q4 label:has([value=no])").tap()
    expect(page.locator("#like")).to_be_hidden()
    with page.expect_request("**/mturk/externalSubmit"):
        page.locator("#submit").tap()
    submission = Submission.objects.get()
    assert submission.answer == {
        "plausible": order[0], "needs_premise": "yes", "drawable": "no", "seen": "no", "like": "",
    }  # fmt: skip
    assert submission.shown["order"] == order[:2]


def test_digits_judge_a_scene(open_page: OpenPage, project: Project) -> None:
    page = open_page()
    opened(page, project, "scene_review")
    expect(page.locator("#q1 input:checked, #q2 input:checked")).to_have_count(0)
    check_sizes(page, "scene to judge", SIZES)
    for digit in "3211":
        page.keyboard.press(digit)
    tab_to(page, "#like")
    page.keyboard.type("1 film")
    with page.expect_request("**/mturk/externalSubmit"):
        page.keyboard.press("Control+Enter")
    assert Submission.objects.get().answer == {
        "plausible": "cannot_tell", "needs_premise": "no", "drawable": "yes", "seen": "yes", "like": "1 film",
    }  # fmt: skip
