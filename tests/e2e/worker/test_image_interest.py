"""Judging twenty photos in a real browser: by keys alone, on a phone, after a reload."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from hits import registry
from hits.models import Hit, Image, Project, Submission
from hits.mturk.boto import marketplace
from hits.services.images.import_image import import_image
from hits.services.publishing.publish import publish_batch
from tests.support import market
from tests.support.axe import check_page, check_sizes
from tests.support.box_editor import READY, agreed, plain_photo, task_address
from tests.support.pages import wait_until_seen
from validation.services.units import launch_from_file, plan_photo_units

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "light")]


@pytest.fixture
def photos(site: str, project: Project) -> list[Image]:
    """Return twenty photos of several shapes."""
    market.fund()
    shapes = [(640, 268 + 8 * n) for n in range(20)]
    return [
        import_image(project=project, name=f"{width}x{height}.jpg", data=plain_photo(width, height))[0]
        for width, height in shapes
    ]


def opened(page: Any, project: Project, photos: list[Image]) -> None:
    """Launch the photos as one set, take it and open its page."""
    kind = registry.get_kind("image_interest")
    units = plan_photo_units(project=project, kind=kind, photos=[photo.pk for photo in photos])
    batch, _ = launch_from_file(project=project, kind=kind, units=units, by=None)
    publish_batch(batch=batch, marketplace=marketplace())
    hit = Hit.objects.get(unit__batch=batch)
    page.goto(task_address(agreed(market.accept(hit, market.market_worker("wanda")))))
    ready(page)


def ready(page: Any) -> None:
    page.locator(READY).wait_for(state="attached")
    page.locator("#how").evaluate("how => { how.open = false; }")
    page.locator("#work:not([disabled])").wait_for()
    wait_until_seen(page)


def submitted(page: Any) -> list[dict[str, int]]:
    page.locator("#submit[aria-disabled=false]").focus()
    with page.expect_request("**/mturk/externalSubmit"):
        page.keyboard.press("Enter")
    return list(Submission.objects.get().answer["verdicts"])


def test_twenty_keys_give_twenty_verdicts_and_nothing_is_preset(
    open_page: OpenPage, project: Project, photos: list[Image]
) -> None:
    page = open_page()
    opened(page, project, photos)
    expect(page.locator(".shot input:checked")).to_have_count(0)
    check_sizes(page, "twenty photos", SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    given = [(n * 7) % 3 for n in range(20)]
    for position, choice in enumerate(given):
        current = page.locator(".row--now")
        expect(current.locator("legend")).to_have_text(f"Photo {position + 1}")
        expect(current.locator("img")).to_be_in_viewport()
        page.keyboard.press(str(choice + 1))
    expect(page.locator("#count")).to_contain_text("20 of 20")
    check_page(page, "all judged")
    assert submitted(page) == [
        {"image": photo.pk, "verdict": choice - 1} for photo, choice in zip(photos, given, strict=True)
    ]


def test_arrows_move_without_judging_and_a_reload_keeps_verdicts(
    open_page: OpenPage, project: Project, photos: list[Image]
) -> None:
    page = open_page()
    opened(page, project, photos[:3])
    page.keyboard.press("ArrowDown")
    expect(page.locator("#count")).to_contain_text("0 of 3")
    page.keyboard.press("3")
    page.locator("#save").get_by_text("Saved").wait_for()
    page.reload()
    ready(page)
    expect(page.locator("#count")).to_contain_text("1 of 3")
    expect(page.locator("#row2 input:checked")).to_have_value("1")
    page.locator("#gaps a", has_text="3").click()
    page.keyboard.press("1")
    page.locator("#row1 label", has_text="Okay").click()
    assert submitted(page) == [
        {"image": photo.pk, "verdict": verdict} for photo, verdict in zip(photos, (0, 1, -1), strict=False)
    ]


def test_phone_photos_are_judged_by_touch(open_page: OpenPage, project: Project, photos: list[Image]) -> None:
    page = open_page(390, 800, has_touch=True, is_mobile=True)
    opened(page, project, photos[:2])
    for number, label in ((1, "Interesting"), (2, "Boring")):
        choice = page.locator(f"#row{number} label", has_text=label)
        choice.scroll_into_view_if_needed()
        box = choice.bounding_box()
        assert box["height"] >= 44, "fingers hit it"
        choice.tap()
    expect(page.locator("#count")).to_contain_text("2 of 2")
    assert [row["verdict"] for row in submitted(page)] == [1, -1]
