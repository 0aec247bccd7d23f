"""Pairs of photos that splits share are read with the keyboard; pages fit from phone to wide screen."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from curation.models import LeakageRun, LeakReview, SourceRecord
from curation.services.leakage import LeakageOptions, LeakageResult, SimilarPair, store_leaks
from hits.models import Image, Project
from hits.services.images.import_image import ImageDescription, import_image
from tests.support.axe import check_sizes
from tests.support.pages import wait_until_seen
from tests.support.pictures import picture

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SIZES = ((390, "light"), (768, "light"), (1280, "dark"), (1920, "light"))


def photo(project: Project, seed: int, split: str, name: str) -> Image:
    data = picture(320, 240, seed=seed, image_format="JPEG")
    image = import_image(project=project, name=name, data=data, description=ImageDescription(split=split))[0]
    SourceRecord.objects.create(
        image=image, source="visual_genome", source_id=str(2370463 + seed), facts={"coco_id": seed // 2}
    )
    return image


@pytest.fixture
def run(project: Project) -> LeakageRun:
    splits = ("train", "test")
    long = "3005_ABRAHAM_LINCOLN_VAMPIRE_HUNTER_00.27.43.141-00.27.45.534@0.jpg"
    images = [photo(project, seed, splits[seed % 2], f"{seed}-{long}") for seed in range(6)]
    pairs = [SimilarPair(images[at].pk, images[at + 1].pk, 0.99 - at / 50) for at in (0, 2, 4)]
    nearest = (
        [0] * 10 + [12, 80, 120, 90, 60, 30, 12, 8, 4, 2] + [0] * 18 + [1, 0, 2, 1] + [0] * 5 + [3, 2, 1]
    )
    return store_leaks(
        project=project,
        options=LeakageOptions(),
        leaks=LeakageResult(
            "efficientnet-lite0 pooled",
            "1",
            6,
            40,
            pairs,
            {
                "nearest": nearest,
                "by_splits": {"test/train": 40},
                "copies": 3,
                "seconds": 12.5,
                "set_aside": 1,
            },
        ),
    )


def test_pairs_are_read_with_keys(
    open_page: Callable[..., Any], sign_in: Callable[[Any, str], None], run: LeakageRun, researcher: User
) -> None:
    page = open_page()
    sign_in(page, "rosa")
    page.goto(f"/projects/{run.project.slug}/curation/splits/")
    assert page.locator("article").count() == 3
    for key, left in (("s", 2), ("d", 1), ("a", 0)):
        page.get_by_role("button", name="Turn keys off").wait_for()  # keys act from here on
        wait_until_seen(page)
        page.keyboard.press(key)
        page.get_by_role("link", name=f"To review {left}", exact=True).wait_for()
        expect(page.locator("article")).to_have_count(left)
    page.get_by_text("All are reviewed").wait_for()
    assert list(LeakReview.objects.values_list("verdict", flat=True)) == ["same", "different", "same"]
    assert Image.objects.get(duplicate_of__isnull=False).split == "train"
    assert page.evaluate("document.querySelector('.errors')") is None


@pytest.mark.parametrize("where", ["splits/", "sources/"])
def test_pages_fit_and_are_accessible(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    run: LeakageRun,
    researcher: User,
    where: str,
) -> None:
    page = open_page()
    sign_in(page, "rosa")
    page.goto(f"/projects/{run.project.slug}/curation/{where}")
    check_sizes(page, where, SIZES)
