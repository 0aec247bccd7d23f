"""Labelling photos by keys, and a model's page, in a real browser."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from curation.models import InterestLabel, InterestModel, InterestScore
from hits.models import Image, Project
from hits.services.images.import_image import import_image
from tests.support.axe import check_page, check_sizes
from tests.support.box_editor import plain_photo
from tests.support.curation.interest_rows import FIGURES, OPTIONS, WEIGHTS
from tests.support.vcr.frames import build_object_set, detection_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (1280, "light"), (1280, "dark")]


@pytest.fixture
def photos(site: str, project: Project) -> list[Image]:
    """Return three photos with detected objects."""
    run = detection_run(project)
    found = [
        import_image(project=project, name=f"{height}.jpg", data=plain_photo(640, height))[0]
        for height in (268, 360, 480)
    ]
    for image in found:
        build_object_set(image, run, 2, 2).save()
    return found


def test_label_page_keys_label_one_photo_after_another(
    open_page: OpenPage,
    sign_in: Callable[..., None],
    researcher: User,
    project: Project,
    photos: list[Image],
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("interest-label", args=[project.slug]))
    check_sizes(page, "the label page", SIZES)
    for number, key in enumerate(("3", "1"), start=1):
        page.keyboard.press(key)
        expect(page.locator(".page-head")).to_contain_text(f"You have labelled {number} of 3")
        page.wait_for_load_state()  # the next page listens to keys after its scripts ran
    page.get_by_role("link", name="Correct the previous photo").click()
    expect(page.locator("button[aria-pressed=true]")).to_contain_text("Boring")
    check_page(page, "a photo that has a label")
    page.keyboard.press("2")
    expect(page.get_by_role("status").get_by_text("Saved: okay.")).to_be_visible()
    page.wait_for_load_state()
    page.get_by_role("button", name="Turn keys off").click()
    page.keyboard.press("3")
    page.locator("button", has_text="Interesting").click()
    expect(page.locator("main")).to_contain_text("You have labelled all photos")
    assert list(InterestLabel.objects.order_by("pk").values_list("verdict", flat=True)) == [1, -1, 0, 1]


def test_pages_of_models_fit_every_window(
    open_page: OpenPage,
    sign_in: Callable[..., None],
    researcher: User,
    project: Project,
    photos: list[Image],
) -> None:
    model = InterestModel.objects.create(
        project=project, kind="counts", options=OPTIONS, weights=WEIGHTS, threshold=0.6, figures=FIGURES
    )
    for image, score in zip(photos, (0.91, 0.62, 0.13), strict=True):
        InterestScore.objects.create(model=model, image=image, score=score)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("interest", args=[project.slug]))
    check_sizes(page, "models of interest", SIZES)
    page.get_by_role("link", name=f"Model {model.pk}").click()
    expect(page.locator(".photos li")).to_have_count(3)
    expect(page.locator(".photos li.off")).to_have_count(1)
    check_sizes(page, "a model of interest", SIZES)
