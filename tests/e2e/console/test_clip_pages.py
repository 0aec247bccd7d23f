"""Pages of film clips and of objects in a real browser: they fit every window, and a clip is taken down."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from curation.models import Clip
from hits.models import Image, Project
from hits.services.images.import_image import import_image
from tests.support.axe import check_page, check_sizes
from tests.support.box_editor import plain_photo
from tests.support.curation.clips import made_clip, made_objects

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (1280, "light"), (1280, "dark")]


@pytest.fixture
def images(site: str, project: Project) -> list[Image]:
    """Three photos."""
    return [
        import_image(project=project, name=f"{height}.jpg", data=plain_photo(640, height))[0]
        for height in (268, 360, 480)
    ]


def test_clip_pages_fit_every_window_and_a_clip_is_taken_down(
    open_page: OpenPage,
    sign_in: Callable[..., None],
    researcher: User,
    project: Project,
    images: list[Image],
) -> None:
    clip = made_clip(project, images, name="7_Moor_00.23.57.935-00.24.00.783", movie="lsmdc_7_Moor")
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("clips", args=[project.slug]))
    check_sizes(page, "clips", SIZES)
    page.get_by_role("link", name=clip.name).click()
    expect(page.locator(".contact-sheet img")).to_have_count(3)
    check_sizes(page, "a clip", SIZES)
    page.get_by_role("button", name="Take down…").click()
    check_page(page, "the question before a clip is taken down")
    page.get_by_role("dialog").get_by_label("Reason").fill("its owner asked")
    page.get_by_role("button", name="Take the clip down").click()
    expect(page.locator("main")).to_contain_text("Nobody sees the frames of this clip")
    check_sizes(page, "a clip that is taken down", SIZES)
    assert Clip.objects.exclude(taken_down_at=None).exists()


def test_object_pages_fit_every_window(
    open_page: OpenPage,
    sign_in: Callable[..., None],
    researcher: User,
    project: Project,
    images: list[Image],
) -> None:
    found = made_objects(images[0], "person", "person", "potted plant", "dog")
    made_objects(images[1], "person", run=found.run)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("object-runs", args=[project.slug]))
    check_sizes(page, "runs of objects", SIZES)
    page.get_by_role("link", name=f"Run {found.run_id}").click()
    check_sizes(page, "a run of objects", SIZES)
    page.get_by_role("link", name="268.jpg").click()
    expect(page.locator(".object-number")).to_have_count(4)
    check_sizes(page, "the objects of a photo", SIZES)
