"""One rendering of a region: the HIT page's picture is what models are fed with, and what an export carries."""

import io
import uuid
from typing import Any

import numpy as np
import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from numpy.typing import NDArray
from PIL import Image as Pillow

from hits.domain.images.region_drawing import RegionMode, draw_region
from hits.kind import UnitBox
from hits.models import Image, Unit
from hits.services.images.import_image import import_image
from tests.support.box_editor import plain_photo
from tests.support.judging.work import Work
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.services.judging import launch_comparison, launch_review

pytestmark = pytest.mark.django_db
WIDTH, HEIGHT = 320, 240
OUTLINE = (5, 255, 55)
NOISE = 24  # the most that JPEG at quality 95 moves a channel beside a hard edge
A_WHILE = "private, max-age=600"  # a photo may be taken down


@pytest.fixture
def frame() -> Client:
    """Return a browser that asks the HIT origin, and carries a cookie all the same."""
    client = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"))
    client.cookies["sessionid"] = "x"
    return client


@pytest.fixture
def photo(work: Work) -> Image:
    """Return a photograph without hard edges."""
    data = plain_photo(WIDTH, HEIGHT)
    return import_image(project=work.project, name="smooth.jpg", data=data)[0]


@pytest.fixture
def unit(work: Work, photo: Image) -> Unit:
    """Return a comparison unit on the photograph, with two boxes that overlap."""
    gold = work.observed(photo, worker="AUTHOR")[0]
    boxes = [
        {"left": 40, "top": 30, "width": 120, "height": 80},
        {"left": 120, "top": 60, "width": 100, "height": 120},
    ]
    texts = [CandidateToRate(f"c{n}", f"Somebody left {n} minutes ago.") for n in range(3)]
    comparison = SetToJudge("1", gold.instance_id, photo.pk, boxes, texts)
    batch, _ = launch_comparison(project=work.project, sets=[comparison], by=None)
    found: Unit = batch.units.get()
    return found


def _address(unit: Unit) -> str:
    return reverse("hit-region", args=[unit.public_id])


def _pixels(picture: Pillow.Image) -> NDArray[np.int_]:
    return np.asarray(picture.convert("RGB")).astype(int)


def _drawn(unit: Unit, photo: Image) -> NDArray[np.int_]:
    with photo.file.open() as file, Pillow.open(file) as picture:
        boxes = [UnitBox(**box) for box in unit.payload["boxes"]]
        return _pixels(draw_region(picture, boxes, RegionMode.HIGHLIGHT))


def test_the_page_s_picture_is_the_one_that_models_see(frame: Client, unit: Unit, photo: Image) -> None:
    reply = frame.get(_address(unit))
    assert (reply.status_code, reply["Content-Type"]) == (200, "image/jpeg")
    shown = Pillow.open(io.BytesIO(reply.content))
    assert shown.size == (WIDTH, HEIGHT)
    off = np.abs(_pixels(shown) - _drawn(unit, photo))
    assert off.max() <= NOISE
    assert off.mean() < 2


def test_the_outline_stands_where_the_box_is(frame: Client, unit: Unit, photo: Image) -> None:
    shown = _pixels(Pillow.open(io.BytesIO(frame.get(_address(unit)).content)))
    with photo.file.open() as file, Pillow.open(file) as picture:
        plain = _pixels(picture)
    for x, y in ((41, 70), (100, 31), (121, 150), (218, 120), (170, 178)):
        assert np.abs(shown[y, x] - OUTLINE).max() <= NOISE, f"no outline at {x}, {y}"
    for x, y in ((36, 70), (100, 26), (224, 120), (300, 10)):
        assert np.abs(shown[y, x] - plain[y, x]).max() <= NOISE, f"the photo is changed at {x}, {y}"
    inside = plain[60, 80] * (1 - 60 / 255) + np.array((255, 5, 205)) * 60 / 255
    assert np.abs(shown[60, 80] - inside).max() <= NOISE


def test_it_may_be_kept_for_a_while_and_sets_no_cookie(frame: Client, unit: Unit) -> None:
    reply = frame.get(_address(unit))
    assert reply["Cache-Control"] == A_WHILE
    assert not reply.cookies
    assert frame.get(_address(unit)).content == reply.content, "equal bytes each time"
    assert frame.head(_address(unit)).status_code == 200
    assert frame.post(_address(unit)).status_code == 405


def test_it_stands_on_the_hit_origin_alone(unit: Unit) -> None:
    public = Client(HTTP_HOST=settings.PUBLIC_URL.removeprefix("http://"))
    assert public.get(_address(unit)).status_code == 404


def test_the_page_asks_for_it_beside_its_own_address(frame: Client, unit: Unit) -> None:
    page = frame.get(reverse("hit-page", args=[unit.public_id])).content.decode()
    assert 'href="region"' in page
    assert reverse("hit-page", args=[unit.public_id]) + "region" == _address(unit)


def test_what_has_no_region_is_not_found(frame: Client, work: Work, unit: Unit, photo: Image) -> None:
    assert frame.get(reverse("hit-region", args=[uuid.uuid4()])).status_code == 404
    observed = Unit.objects.filter(batch__kind="sherlock_observation").first()
    assert observed is not None
    assert frame.get(_address(observed)).status_code == 404
    pairs = work.observed(photo, worker="W2")
    reviewed = launch_review(project=work.project, observations=pairs[:1], by=None)[0].units.get()
    assert frame.get(_address(reviewed)).status_code == 404, "that page draws its boxes itself"


def test_a_photo_that_was_taken_down_is_not_found(frame: Client, unit: Unit, photo: Image) -> None:
    Image.objects.filter(pk=photo.pk).update(taken_down_at=timezone.now())
    assert frame.get(_address(unit)).status_code == 404


@pytest.mark.parametrize("option", [{}, {"reference": "They left by boat.", "clue": "a rope"}])
def test_clue_and_reference_stand_on_the_page_only_when_asked_for(
    frame: Client, work: Work, unit: Unit, option: dict[str, Any]
) -> None:
    Unit.objects.filter(pk=unit.pk).update(payload=unit.payload | option)
    page = frame.get(reverse("hit-page", args=[unit.public_id])).content.decode()
    for words in ("They left by boat.", "a rope", "Somebody wrote about the marked part:", "Marked:"):
        assert (words in page) is bool(option), words
