"""The photos of a launch: by split, source, seeded sample or name; collected ones only on request."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.models import SourceRecord
from hits.domain.images.image_selection import ImageSelection, ImageSelectionError, SelectionMethod
from hits.models import Batch, Image, Project
from hits.selectors.images.image_selection import count_photos_by_split, image_ids_by_source, select_photos
from tests.support import market
from tests.support.loop import launched

pytestmark = pytest.mark.django_db(transaction=True)
KIND = "sherlock_observation"
FORM = {"name": "Kitchens", "reward": "1.25", "bonus": "0.15", "assignments": "1", "step": "launch"}


@pytest.fixture
def photos(project: Project, make_image: Callable[..., Image]) -> list[Image]:
    """Return ten photos: six to train, four to test; the first three from Visual Genome."""
    market.fund()
    found = [make_image(seed) for seed in range(1, 11)]
    for place, image in enumerate(found):
        image.split = "train" if place < 6 else "test"
        image.save(update_fields=["split"])
        if place < 3:
            SourceRecord.objects.create(image=image, source="visual_genome", source_id=str(place))
    return found


def ids(photos: list[Image]) -> list[int]:
    return [photo.pk for photo in photos]


def test_random_selection_is_repeatable_and_ordered(project: Project, photos: list[Image]) -> None:
    one = select_photos(project, KIND, ImageSelection(SelectionMethod.RANDOM, n=4, seed=7))
    assert (
        one
        == select_photos(project, KIND, ImageSelection(SelectionMethod.RANDOM, n=4, seed=7))
        == sorted(one)
    )
    assert len(set(one)) == 4
    draws = {
        tuple(select_photos(project, KIND, ImageSelection(SelectionMethod.RANDOM, n=4, seed=seed)))
        for seed in range(20)
    }
    assert len(draws) > 10


def test_selection_by_split_and_source(project: Project, photos: list[Image]) -> None:
    assert select_photos(project, KIND, ImageSelection(split="test")) == ids(photos[6:])
    assert select_photos(project, KIND, ImageSelection(source="visual_genome")) == ids(photos[:3])
    assert select_photos(project, KIND, ImageSelection(split="test", source="visual_genome")) == []
    assert count_photos_by_split(project) == [("test", 4), ("train", 6)]
    assert list(image_ids_by_source(project)) == ["visual_genome"]
    with pytest.raises(ImageSelectionError, match="no photos from vcr; known sources: visual_genome"):
        select_photos(project, KIND, ImageSelection(source="vcr"))


def test_shown_photos_are_excluded_unless_requested(project: Project, photos: list[Image]) -> None:
    launched(project, photos[:8])
    assert select_photos(project, KIND, ImageSelection()) == ids(photos[8:])
    assert select_photos(project, KIND, ImageSelection(again=True)) == ids(photos)


def test_named_photos_must_be_unique(project: Project, photos: list[Image]) -> None:
    names = (photos[4].name, str(photos[1].pk), photos[4].name)
    assert select_photos(project, KIND, ImageSelection(SelectionMethod.NAMED, names=names)) == [
        photos[4].pk,
        photos[1].pk,
    ]
    with pytest.raises(ImageSelectionError, match=r"nowhere\.jpg: is none of these photos"):
        select_photos(project, KIND, ImageSelection(SelectionMethod.NAMED, names=("nowhere.jpg",)))
    Image.objects.filter(pk__in=ids(photos[:2])).update(name="same.jpg")
    with pytest.raises(ImageSelectionError, match=r"same\.jpg: matches 2 photos; use the photo’s number"):
        select_photos(project, KIND, ImageSelection(SelectionMethod.NAMED, names=("same.jpg",)))


@pytest.mark.parametrize(
    ("asked", "chosen", "kept"),
    [
        ({"which": "all"}, slice(0, 10), {"how": "all"}),
        ({"which": "first", "first": "3"}, slice(0, 3), {"how": "first", "n": 3}),
        ({"which": "all", "split": "test"}, slice(6, 10), {"how": "all", "split": "test"}),
        (
            {"which": "all", "source": "visual_genome"},
            slice(0, 3),
            {"how": "all", "source": "visual_genome"},
        ),
    ],
)
def test_form_launches_selection_and_batch_stores_it(
    asked: dict[str, str],
    chosen: slice,
    kept: dict[str, object],
    client: Client,
    researcher: User,
    project: Project,
    photos: list[Image],
) -> None:
    client.force_login(researcher)
    assert client.post(reverse("batch-new", args=[project.slug]), FORM | asked).status_code == 302
    batch = Batch.objects.get()
    assert [unit.payload["image"] for unit in batch.units.order_by("pk")] == ids(photos[chosen])
    assert batch.provenance["photos"] == kept


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"which": "first", "first": "11"}, "There are 10 photos; use that number or fewer."),
        ({"which": "random", "drawn": "3", "seed": ""}, "Give a seed, a whole number from 0."),
        ({"which": "random", "drawn": "", "seed": "1"}, "Enter the number of photos."),
        ({"which": "named", "names": "a.jpg"}, "a.jpg: is none of these photos."),
        ({"which": "named", "names": " "}, "Enter the photos’ names, one per line."),
        ({"which": "all", "split": "test", "source": "visual_genome"}, "This selection contains no photo"),
    ],
)
def test_invalid_selection_is_reported_at_its_field(
    asked: dict[str, str],
    message: str,
    client: Client,
    researcher: User,
    project: Project,
    photos: list[Image],
) -> None:
    client.force_login(researcher)
    page = client.post(reverse("batch-new", args=[project.slug]), FORM | asked)
    assert page.status_code == 400
    assert message in page.content.decode()
    assert not Batch.objects.exists()


def test_command_selects_random_and_named_photos(project: Project, photos: list[Image]) -> None:
    flags = ["launch_batch", KIND, "--project", project.slug, "--reward-cents", "50"]
    call_command(*flags, "--random", "3", "--seed", "5", stdout=StringIO())
    first = Batch.objects.get()
    drawn = [unit.payload["image"] for unit in first.units.order_by("pk")]
    assert drawn == select_photos(
        project, KIND, ImageSelection(SelectionMethod.RANDOM, n=3, seed=5, again=True)
    )
    assert first.provenance["photos"] == {"how": "random", "n": 3, "seed": 5}
    left = [photo for photo in photos if photo.pk not in drawn]
    call_command(*flags, "--photo", left[0].name, "--photo", left[1].name, stdout=StringIO())
    assert Batch.objects.order_by("pk").last().units.count() == 2  # type: ignore[union-attr]
    with pytest.raises(CommandError, match="--random: There are 5 photos; use that number or fewer"):
        call_command(*flags, "--random", "6", stdout=StringIO())


def test_page_offers_shown_photos_if_no_others_are_left(
    client: Client, researcher: User, project: Project, photos: list[Image]
) -> None:
    launched(project, photos)
    client.force_login(researcher)
    address = reverse("batch-new", args=[project.slug])
    assert "?kind=sherlock_observation&amp;again=1" in client.get(address).content.decode()
    again = client.get(address + "?again=1").content.decode()
    assert 'name="again" id="id_again" checked' in again
    assert "All usable photos" in again
    refused = client.post(address, FORM | {"which": "all"})
    assert "include photos that a batch of this kind already used" in refused.content.decode()
    assert client.post(address, FORM | {"which": "all", "again": "on"}).status_code == 302
