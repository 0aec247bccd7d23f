"""Ticking explanations, picking images and writing explanations of triplets in a real browser."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from hits.models import Project, Submission
from tests.support import market
from tests.support.axe import ALL_SIZES, check_page, check_sizes
from tests.support.nleye_units import (
    opened,
    pick_unit,
    reloaded,
    selection_unit,
    submitted,
    three_images,
    writing_unit,
)
from validation.kinds.image_pick.kind import slot_name

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
EVERY = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]
SIZES = EVERY if ALL_SIZES else [(390, "light"), (1280, "dark")]
FINGER = 44  # CSS pixels


@pytest.fixture
def images(site: str, project: Project) -> dict[str, int]:
    market.fund()
    return three_images(project)


def ticked(page: Any) -> list[str]:
    """Return the values of the ticked boxes; "on" is the one that says none."""
    return list(page.locator("#texts input:checked").evaluate_all("all => all.map((one) => one.value)"))


def test_texts_are_ticked_by_keys_and_none_excludes_them(
    open_page: OpenPage, project: Project, images: dict[str, int]
) -> None:
    page = open_page()
    opened(page, project, "explanation_selection", selection_unit(images))
    assert "decoy" not in page.content()
    right = page.locator(".tile--right")
    expect(right).to_have_attribute("data-tile", "h1")
    expect(right.locator(".badge")).to_have_text("right image")
    expect(right.locator(".badge svg")).to_be_visible()
    assert right.locator(".tile-open").evaluate("open => getComputedStyle(open).outlineWidth") == "4px"
    expect(page.locator("#gaps a")).to_have_count(1)
    check_sizes(page, "texts", SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    order = page.locator("input[name=valid]").evaluate_all("all => all.map((one) => one.value)")
    assert sorted(order) == ["e1", "e2", "e3", "e4"]
    page.keyboard.press("3")
    page.keyboard.press("1")
    assert ticked(page) == [order[0], order[2]]
    page.keyboard.press("0")
    assert ticked(page) == ["on"]
    page.keyboard.press("4")
    page.keyboard.press("2")
    page.keyboard.press("4")
    assert ticked(page) == [order[1]]
    reloaded(page)
    assert ticked(page) == [order[1]]
    others = sorted(set(order) - {order[1]})
    assert submitted(page) == {"valid": [order[1]], "none": False, "not_valid": others}
    assert (Submission.objects.get().shown or {})["order"] == order


def test_texts_are_ticked_by_touch_below_images_that_fold_away(
    open_page: OpenPage, project: Project, images: dict[str, int]
) -> None:
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    opened(page, project, "explanation_selection", selection_unit(images))
    page.locator(".text-row--none").scroll_into_view_if_needed()
    expect(page.locator(".tile-open").first).to_be_in_viewport()
    page.locator("#triplet-fold").tap()
    expect(page.locator(".tile-open").first).to_be_hidden()
    expect(page.locator("#triplet-fold")).to_have_text("Show the images")
    row = page.locator(".text-row--none")
    assert row.bounding_box()["height"] >= FINGER
    row.tap()
    with page.expect_request("**/mturk/externalSubmit"):
        page.locator("#submit[aria-disabled=false]").tap()
    assert Submission.objects.get().answer["none"] is True


def test_best_image_is_picked_by_keys_and_asked_about(
    open_page: OpenPage, project: Project, images: dict[str, int]
) -> None:
    page = open_page()
    opened(page, project, "image_pick", pick_unit(images))
    check_sizes(page, "candidates", SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    names = page.locator("input[name=best]").evaluate_all("all => all.map((o) => o.value)")[:-1]
    by_name = {slot_name(pick_unit(images), images[role]): images[role] for role in ("h1", "h2")}
    assert sorted(names) == sorted(by_name)
    page.keyboard.press("0")
    expect(page.locator(".ask:visible")).to_have_count(1)  # nothing is asked about no image
    expect(page.locator("#gaps a")).to_have_count(0)
    page.keyboard.press("2")
    expect(page.locator(".tile--chosen")).to_have_attribute("data-tile", names[1])
    page.keyboard.press("Enter")
    page.keyboard.press("y")
    page.keyboard.press("Enter")
    reloaded(page)
    expect(page.locator(".ask--open")).to_have_attribute("data-ask", "same")
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    page.keyboard.press("n")
    check_page(page, "a picked image")
    page.keyboard.press("Enter")
    assert submitted(page) == {
        "best": by_name[names[1]], "none": False, "shows_all": "yes", "same": "no", "broken": "no",
    }  # fmt: skip


def test_explanation_is_written_and_only_a_parallel_scene_has_no_duration(
    open_page: OpenPage, project: Project, images: dict[str, int]
) -> None:
    page = open_page()
    opened(page, project, "nleye_explanation_writing", writing_unit(images))
    check_sizes(page, "writing", SIZES)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.fill("#explanation", "Image 2 has the same floor")
    expect(page.locator("#hints .hint mark")).to_have_text("Image 2")
    page.fill("#explanation", "A ball thrown indoors easily hits a lamp.")
    for name, value in (("category", "physical"), ("direction", "backward")):
        page.locator(f"input[name={name}][value={value}]").check(force=True)
    for role, value in (("premise", "yes"), ("h1", "partly"), ("h2", "yes")):
        page.locator(f"input[name=alignment-{role}][value={value}]").check(force=True)
    expect(page.locator("#gaps a")).to_have_text(["how much time lies between"])
    page.locator("input[name=duration][value=short]").check(force=True)
    page.locator("input[name=direction][value=parallel]").check(force=True)
    expect(page.locator("#duration")).to_be_hidden()
    expect(page.locator("#gaps a")).to_have_count(0)
    reloaded(page)
    expect(page.locator("#duration")).to_be_hidden()
    page.locator("input[name=direction][value=backward]").check(force=True)
    page.fill("#note", "The ball is hard to see.")
    assert submitted(page) == {
        "explanation": "A ball thrown indoors easily hits a lamp.",
        "category": "physical",
        "direction": "backward",
        "duration": "short",
        "alignment": {"premise": "yes", "h1": "partly", "h2": "yes"},
        "note": "The ball is hard to see.",
    }
