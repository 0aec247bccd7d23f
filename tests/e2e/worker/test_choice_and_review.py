"""Choosing a response and reviewing a submission in a real browser: keys, mouse, drafts, sizes, what is sent."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from hits.models import Hit, Image, Project, Submission
from hits.mturk.boto import marketplace
from hits.services.images.import_image import import_image
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.publishing.publish import publish_batch
from tests.support import market
from tests.support.axe import check_page, check_sizes
from tests.support.box_editor import READY, agreed, plain_photo, task_address
from tests.support.pages import wait_until_seen
from tests.support.vcr.judged import choice_unit, review_unit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "light")]
ADVICE = "Your second reason repeats the answer. Say what in the photo shows it."


@pytest.fixture
def image(site: str, project: Project) -> Image:
    market.fund()
    return import_image(project=project, name="station.jpg", data=plain_photo(640, 480))[0]


def opened(page: Any, project: Project, kind: str, unit: dict[str, Any]) -> Hit:
    """Launch a unit, take it and open its page."""
    batch, _ = launch_batch(
        project=project, kind_name=kind, name="Play", units=[PlannedUnit("unit", unit)], by=None
    )
    publish_batch(batch=batch, marketplace=marketplace())
    hit = Hit.objects.get(unit__batch=batch)
    page.goto(task_address(agreed(market.accept(hit, market.market_worker("wanda")))))
    page.locator(READY).wait_for(state="attached")
    page.locator("#how").evaluate("how => { how.open = false; }")
    page.locator("#work:not([disabled])").wait_for()
    wait_until_seen(page)
    return hit


def submitted(page: Any) -> dict[str, Any]:
    with page.expect_request("**/mturk/externalSubmit"):
        page.locator("#submit").click()
    return dict(Submission.objects.get().answer)


def test_choice_is_made_by_a_key_and_names_the_unit_s_index(
    open_page: OpenPage, project: Project, image: Image
) -> None:
    page = open_page()
    opened(page, project, "vcr_choice", choice_unit(image))
    assert "label" not in page.evaluate(
        "Object.keys(JSON.parse(document.getElementById('hit-config').text).unit)"
    )
    assert "2" * 32 not in page.content(), "no record of a response is on the page"
    check_sizes(page, "choice of an answer", SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    order = page.locator("input[name=choice]").evaluate_all("all => all.map((one) => Number(one.value))")
    assert sorted(order) == [0, 1, 2, 3]
    page.keyboard.press(str(order.index(2) + 1))
    expect(page.locator("input[name=choice]:checked")).to_have_value("2")
    page.locator("#save").get_by_text("Saved").wait_for()
    page.reload()
    page.locator("#work:not([disabled])").wait_for()
    expect(page.locator("input[name=choice]:checked")).to_have_value("2")
    assert submitted(page) == {"choice": 2}
    assert (Submission.objects.get().shown or {}).get("order") == order


def test_rationale_shows_the_right_answer_and_a_pilot_asks_about_several(
    open_page: OpenPage, project: Project, image: Image
) -> None:
    page = open_page()
    opened(page, project, "vcr_choice", choice_unit(image, stage="rationale", several_allowed=True))
    expect(page.locator(".choice-answer")).to_contain_text("person 1 does not want to say goodbye")
    check_sizes(page, "choice of a rationale", SIZES)
    page.locator(".choice").nth(1).click(position={"x": 5, "y": 5})
    page.get_by_label("Another one is just as right").check()
    chosen = page.locator("input[name=choice]").nth(1).get_attribute("value")
    assert submitted(page) == {"choice": int(chosen), "several": True}


def test_pointing_at_a_mention_lights_its_object_and_back(
    open_page: OpenPage, project: Project, image: Image
) -> None:
    page = open_page()
    opened(page, project, "vcr_choice", choice_unit(image))
    page.locator(".choice-question .mention").first.hover()
    expect(page.locator("#photo .object--on[data-object]")).to_have_attribute("data-object", "0")
    photo = page.locator("#photo").bounding_box()
    page.mouse.move(photo["x"] + 550 * photo["width"] / 640, photo["y"] + 200 * photo["height"] / 480)
    expect(page.locator(".mention--lit")).to_have_count(1)
    expect(page.locator(".mention--lit")).to_contain_text("person 5")


def test_review_is_written_kept_and_sent(open_page: OpenPage, project: Project, image: Image) -> None:
    page = open_page()
    opened(page, project, "work_review", review_unit(image))
    check_sizes(page, "review", SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    labels = {"question": "generic", "answer": "reasonable", "rationale": "restates", "tags": "missing"}
    for number in (1, 2):
        for name, value in labels.items():
            page.locator(f"input[name={name}-{number}][value={value}]").check(force=True)
    page.locator("input[name=overall][value=keep_advice]").check(force=True)
    page.fill("#advice", "Too short to help.")
    expect(page.locator("#gaps")).to_contain_text("4 of 8 words")
    page.fill("#advice", "One is good. Two is good. Three is good. Four is one too many.")
    expect(page.locator("#gaps")).to_contain_text("at most 3 sentences")
    page.fill("#advice", ADVICE)
    expect(page.locator("#gaps a")).to_have_count(0)
    page.locator("#save").get_by_text("Saved").wait_for()
    page.reload()
    page.locator("#work:not([disabled])").wait_for()
    expect(page.locator("#advice")).to_have_value(ADVICE)
    check_page(page, "a complete review")
    rows = [{"triplet": number, **labels} for number in (1, 2)]
    assert submitted(page) == {"triplets": rows, "advice": ADVICE, "overall": "keep_advice"}
