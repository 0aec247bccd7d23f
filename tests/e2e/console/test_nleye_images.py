"""Picking images by keys, marking a region, and deciding about a triplet, in a real browser."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from curation.models import GeneratedImage, ModelRun, Scene, TripletDecision
from curation.selectors.triplets.images import scene_images
from hits.models import Project
from tests.support import nleye_stored as stored
from tests.support.axe import check_page, check_sizes
from tests.support.pages import wait_until_seen

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "light"), (1280, "light"), (1920, "dark")]


@pytest.fixture
def scene(site: str, project: Project, researcher: User) -> Scene:
    """A kept scene with three candidates of each role, one of them flagged."""
    (found,) = stored.store_scenes(stored.nleye_project(project), 1)
    stored.keep_scenes([found], researcher)
    stored.approve_prompts([found], researcher)
    for role in stored.ROLES:
        for seed in range(2):
            stored.store_image(found, role, seed=seed, size=(256, 256), generator="drawing")
        stored.store_image(found, role, seed=2, flags=["safety checker"])
    return found


def picked(scene: Scene) -> dict[str, int]:
    """Return the number of the picked candidate of each role."""
    return {role: image.number for role, image in scene_images([scene])[scene.pk].picks.items()}


def test_images_are_picked_by_keys(
    open_page: OpenPage, sign_in: Callable[..., None], researcher: User, scene: Scene
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("scene-image-list", args=[scene.project.slug]))
    check_sizes(page, "the queue of images", SIZES)
    page.get_by_role("link", name="Pick images").click()
    check_sizes(page, "the images of a scene", SIZES)
    wait_until_seen(page)
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("p")
    expect(page.get_by_text("Premise: picked.")).to_be_visible()
    assert picked(scene) == {"premise": 2}
    expect(page.locator(".candidate--picked [data-open]")).to_be_focused()
    page.keyboard.press("2")
    page.keyboard.press("z")
    expect(page.locator("#viewer-name")).to_have_text("Hypothesis a, candidate 1")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#viewer-name")).to_have_text("Premise")  # the picked one, to compare with
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    expect(page.get_by_text("Hypothesis a: picked.")).to_be_visible()
    wait_until_seen(page)
    page.keyboard.press("2")
    page.keyboard.press("u")
    expect(page.get_by_text("Hypothesis a: the pick is taken back.")).to_be_visible()
    assert picked(scene) == {"premise": 2}
    check_page(page, "a scene with a pick")


def test_a_region_is_marked_by_mouse_and_by_keys(
    open_page: OpenPage, sign_in: Callable[..., None], researcher: User, scene: Scene
) -> None:
    image = GeneratedImage.objects.filter(scene=scene, role="a").earliest("pk")
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("scene-image", args=[scene.project.slug, image.pk]))
    check_sizes(page, "a candidate", SIZES)
    wait_until_seen(page)
    frame = page.locator("#stage svg").bounding_box()
    page.mouse.move(frame["x"] + frame["width"] * 0.25, frame["y"] + frame["height"] * 0.25)
    page.mouse.down()
    page.mouse.move(frame["x"] + frame["width"] * 0.5, frame["y"] + frame["height"] * 0.75, steps=4)
    page.mouse.up()
    expect(page.locator("#region-count")).to_have_text("1 region marked.")
    expect(page.get_by_role("radio", name="Only a region of this picture")).to_be_checked()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    expect(page.locator("#region-count")).to_have_text("2 regions marked.")
    check_page(page, "a candidate with marked regions")
    page.get_by_role("button", name="Draw one image").click()
    expect(page.get_by_text("One image from candidate 1: queued.")).to_be_visible()
    first, second = ModelRun.objects.get().parameters["mask"]
    for name, side in {"left": 64, "top": 64, "width": 64, "height": 128}.items():
        assert abs(first[name] - side) <= 2, first
    assert second["width"] > 0


def test_triplet_against_gold_is_kept_with_a_note(
    open_page: OpenPage, sign_in: Callable[..., None], site: str, project: Project, researcher: User
) -> None:
    (triplet,) = stored.store_triplets(project, 1, researcher)
    stored.explain([triplet], researcher)
    stored.judge(project, {triplet.public_id: ("wrong", "wrong", "right")}, researcher)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("image-triplets", args=[project.slug]))
    check_sizes(page, "the list of triplets", SIZES)
    page.get_by_role("link", name="Decide").click()
    check_sizes(page, "the queue against gold", SIZES)
    wait_until_seen(page)
    page.keyboard.press("z")
    expect(page.locator("#viewer-name")).to_have_text("Premise")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page.get_by_text("Say why the triplet stays").first).to_be_visible()
    assert not TripletDecision.objects.exists()
    page.get_by_label("Note").fill("The lamp cannot break by itself.")
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_text("Nothing to decide")).to_be_visible()
    page.goto(reverse("image-triplet", args=[project.slug, triplet.pk]))
    check_sizes(page, "a triplet", SIZES)
    page.goto(reverse("triplet-explanations", args=[project.slug]))
    check_sizes(page, "explanations", SIZES)
