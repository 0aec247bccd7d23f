"""Judging tasks from photos: in sets, drawn on the page or chosen by the command."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from hits import registry
from hits.domain.states import UnitScope
from hits.models import Batch, Image, Project
from hits.services.errors import Refused
from tests.support import market
from tests.support.many_pairs import write_images
from validation.models import JudgingRound
from validation.services.units import plan_photo_units

pytestmark = pytest.mark.django_db(transaction=True)
KIND = "image_interest"
FORM = {"name": "Which are interesting", "reward": "0.14", "assignments": "3", "step": "launch"}


@pytest.fixture
def photos(project: Project) -> list[Image]:
    """Return 45 photos."""
    market.fund()
    return write_images(project, range(1, 46))


def command(project: Project, *flags: str) -> None:
    call_command("launch_units", KIND, "--project", project.slug, *flags, stdout=StringIO())


def test_launch_units_from_photos_launches_sets_of_twenty_as_a_round(
    project: Project, photos: list[Image]
) -> None:
    command(project, "--from-photos", "--repeat", "34")
    batch = Batch.objects.get()
    own = [unit for unit in batch.units.order_by("pk") if not hasattr(unit, "quality_check")]
    assert sorted(len(unit.payload["images"]) for unit in own) == [5, 20, 20]
    shown = sorted(image for unit in own for image in unit.payload["images"])
    assert shown == [photo.pk for photo in photos]
    assert batch.units.count() == 5, "34 % of three sets, rounded up, are repeated"
    assert all(unit.key == unit.payload["set"] for unit in own)
    assert JudgingRound.objects.get().batch == batch
    assert (batch.reward_cents, batch.redundancy) == (14, 3)
    assert batch.unit_scope == UnitScope.PROJECT
    assert batch.provenance["photos"] == {"how": "all"}


def test_launch_units_from_photos_uses_each_photo_once(project: Project, photos: list[Image]) -> None:
    command(project, "--from-photos", "--random", "15", "--seed", "2")
    command(project, "--from-photos", "--random", "30")
    shown = [
        image
        for batch in Batch.objects.all()
        for unit in batch.units.all()
        for image in unit.payload["images"]
    ]
    assert sorted(shown) == [photo.pk for photo in photos]
    with pytest.raises(CommandError, match="every photo is in a batch of image_interest already"):
        command(project, "--from-photos")
    command(project, "--from-photos", "--again", "--limit", "3")


@pytest.mark.parametrize(
    ("kind", "flags", "message"),
    [
        (KIND, ["--from-photos", "--random", "46"], "--random: There are 45 photos"),
        (KIND, ["--from-photos", "--min-people", "2"], "--min-people 2: is no option of image_interest"),
        (
            KIND,
            ["--units", "units.jsonl", "--random", "3"],
            "--random: chooses photos, but the units come from",
        ),
        ("photo_verdict", ["--from-photos"], "its units are not made from photos"),
        ("two_photos", ["--from-photos"], "--from-photos: kind two_photos: is no judging kind"),
    ],
)
def test_launch_units_impossible_choice_is_refused(
    kind: str, flags: list[str], message: str, project: Project, photos: list[Image]
) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        call_command("launch_units", kind, "--project", project.slug, *flags)
    assert caught.value.returncode == 2
    assert not Batch.objects.exists()


def test_plan_photo_units_collecting_kind_is_refused(project: Project) -> None:
    with pytest.raises(Refused, match="sherlock_observation: is no judging kind"):
        plan_photo_units(project=project, kind=registry.get_kind("sherlock_observation"), photos=[1])


def test_units_page_photos_are_drawn_shown_and_launched(
    client: Client, researcher: User, project: Project, photos: list[Image]
) -> None:
    client.force_login(researcher)
    address = reverse("units-new", args=[project.slug]) + f"?kind={KIND}"
    assert "Or photos instead of a file" in client.get(address).content.decode()
    drawn = FORM | {"drawn": "25", "seed": "3", "repeat": "50"}
    confirm = client.post(address, drawn | {"step": "estimate"}).content.decode()
    assert "25 random photos, drawn with seed 3, 2 sets of photos" in confirm
    assert 'name="drawn" value="25"' in confirm
    assert client.post(address, drawn).status_code == 302
    batch = Batch.objects.get()
    assert batch.provenance["photos"] == {"how": "random", "n": 25, "seed": 3}
    assert batch.units.count() == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"drawn": "46", "seed": "1"}, "There are 45 photos; use that number or fewer."),
        ({"drawn": "5", "seed": ""}, "Give a seed, a whole number from 0."),
        ({"drawn": "0", "seed": "1"}, "greater than or equal to 1"),
        ({}, "Choose a file. An uploaded file is saved for one day."),
    ],
)
def test_units_page_impossible_photos_are_reported_at_their_field(
    change: dict[str, str],
    message: str,
    client: Client,
    researcher: User,
    project: Project,
    photos: list[Image],
) -> None:
    client.force_login(researcher)
    page = client.post(reverse("units-new", args=[project.slug]) + f"?kind={KIND}", FORM | change)
    assert page.status_code == 400
    assert message in page.content.decode()
    assert not Batch.objects.exists()


def test_units_page_kind_without_photos_has_no_such_field(
    client: Client, researcher: User, project: Project, make_image: Callable[..., Image]
) -> None:
    client.force_login(researcher)
    page = client.get(reverse("units-new", args=[project.slug]) + "?kind=likert_comparison")
    assert "Or photos instead of a file" not in page.content.decode()
