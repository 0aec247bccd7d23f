"""Launching writing tasks: which photos have enough objects, and what their units hold."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.models import InterestModel, InterestScore
from curation.selectors.object_counts import object_counts
from curation.selectors.writing_units import PLANNER
from hits import registry
from hits.domain.images.detections import DetectedObject, page_objects
from hits.domain.images.unit_objects import MAX_OBJECTS
from hits.models import Batch, Image, Project
from hits.services.images.take_down import take_down_image
from tests.support import market
from tests.support.vcr.frames import build_object_set, detection_run, write_frame

pytestmark = pytest.mark.django_db(transaction=True)
FORM = {
    "name": "Writing",
    "reward": "0.22",
    "bonus": "0.22",
    "assignments": "1",
    "which": "all",
    "step": "launch",
}


@pytest.fixture
def images(project: Project, make_image: Callable[..., Image]) -> list[Image]:
    """Return photos with 2 people and 1 dog, 3 and 0, 1 and 4, 2 and 0, and one without an object list."""
    market.fund()
    found = [make_image(seed) for seed in range(1, 6)]
    run = detection_run(project)
    for image, pair in zip(found, [(2, 1), (3, 0), (1, 4), (2, 0)], strict=False):
        build_object_set(image, run, *pair).save()
    return found


def launch(project: Project, *flags: str) -> list[int]:
    """Launch writing tasks and return the images of the new batch's units."""
    call_command(
        "launch_batch",
        "vcr_qar",
        "--project",
        project.slug,
        "--reward-cents",
        "22",
        *flags,
        stdout=StringIO(),
    )
    batch = Batch.objects.latest("pk")
    return [unit.payload["image"] for unit in batch.units.order_by("pk")]


def ids(*images: Image) -> list[int]:
    return [image.pk for image in images]


def test_launch_batch_default_rules_take_photos_with_enough_objects(
    project: Project, images: list[Image]
) -> None:
    assert launch(project) == ids(images[0], images[1])
    assert Batch.objects.get().provenance["photos"] == {"how": "all"}


def test_launch_batch_other_rules_take_other_photos_and_are_stored(
    project: Project, images: list[Image]
) -> None:
    assert launch(project, "--min-objects", "2", "--min-people", "1") == ids(*images[:4])
    stored = Batch.objects.get().provenance["photos"]
    assert stored == {"how": "all", "options": {"min_objects": 2, "min_people": 1}}


def test_launch_batch_objects_below_the_score_do_not_count(project: Project, images: list[Image]) -> None:
    build_object_set(images[0], detection_run(project, 0.2), 5, 5, score=0.5).save()
    assert launch(project, "--min-score", "0.4") == ids(images[0], images[1])
    assert launch(project, "--min-score", "0.6", "--again") == ids(images[1])


def test_launch_batch_again_takes_photos_that_were_written_about(
    project: Project, images: list[Image]
) -> None:
    launch(project)
    with pytest.raises(CommandError, match=r"every photo is in a batch of vcr_qar already.*--again"):
        launch(project)
    assert launch(project, "--min-people", "1") == ids(images[2]), "the others are written about"
    assert launch(project, "--again", "--limit", "1") == ids(images[0])


def test_launch_batch_taken_down_and_duplicate_photos_are_left_out(
    project: Project, images: list[Image], admin: User
) -> None:
    take_down_image(image=images[0], reason="asked for", by=admin)
    Image.objects.filter(pk=images[1].pk).update(duplicate_of=images[2])
    with pytest.raises(CommandError, match=r"no photo can be used for vcr_qar; No photo has enough detected"):
        launch(project)
    assert launch(project, "--min-people", "1") == ids(images[2])


def test_launch_batch_model_takes_the_photos_that_it_selects(
    project: Project, images: list[Image], rehearsal: Project
) -> None:
    model = InterestModel.objects.create(project=project, kind="counts", threshold=0.6)
    with pytest.raises(CommandError, match=rf"--model: Model {model.pk} has no scores"):
        launch(project, "--model", str(model.pk))
    for image, score in zip(images, [0.59, 0.6, 0.9], strict=False):
        InterestScore.objects.create(model=model, image=image, score=score)
    assert launch(project, "--model", str(model.pk)) == ids(images[1]), "the third has one person only"
    foreign = InterestModel.objects.create(project=rehearsal, kind="counts", threshold=0.1)
    with pytest.raises(
        CommandError, match=rf"--model: There is no interest model {foreign.pk}; known numbers"
    ):
        launch(project, "--model", str(foreign.pk))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--min-score", "1.5"], "--min-score: 1.5 is not within 0 to 1"),
        (["--min-people", "-1"], "--min-people: -1 is negative"),
    ],
)
def test_launch_batch_impossible_rule_is_refused_by_flag(
    flags: list[str], message: str, project: Project, images: list[Image]
) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        launch(project, *flags)
    assert caught.value.returncode == 2
    assert not Batch.objects.exists()


def test_launch_batch_option_of_another_kind_is_refused(project: Project, images: list[Image]) -> None:
    with pytest.raises(CommandError, match="--min-people 2: is no option of sherlock_observation"):
        call_command(
            "launch_batch",
            "sherlock_observation",
            "--project",
            project.slug,
            "--reward-cents",
            "50",
            "--min-people",
            "2",
        )


def test_units_hold_objects_captions_and_the_hash_of_the_newest_list(
    project: Project, images: list[Image]
) -> None:
    image = images[0]
    write_frame(image, captions=["before", "", "x" * 400, "at", "after"])
    newest = build_object_set(image, detection_run(project), 2, 3)
    newest.save()
    (unit,) = PLANNER.units(project, [image.pk])
    objects = [DetectedObject.from_json(raw) for raw in newest.detections]
    assert unit["objects"] == page_objects(objects, width=image.width, height=image.height)
    assert unit["objects_sha256"] == newest.sha256
    assert unit["captions"] == ["before", "x" * 299 + "…", "at"]
    assert registry.get_kind("vcr_qar").parse_unit(unit)["image"] == image.pk


def test_units_more_objects_than_a_unit_holds_keeps_the_first(project: Project, images: list[Image]) -> None:
    found = build_object_set(images[0], detection_run(project), MAX_OBJECTS, 3)
    found.save()
    (unit,) = PLANNER.units(project, [images[0].pk])
    assert [row["name"] for row in unit["objects"]] == ["person"] * MAX_OBJECTS
    assert unit["objects_sha256"] == found.sha256


def test_units_photos_keep_their_order_and_those_without_objects_are_left_out(
    project: Project, images: list[Image]
) -> None:
    planned = PLANNER.units(project, ids(images[3], images[4], images[0]))
    assert [unit["image"] for unit in planned] == ids(images[3], images[0])


def test_object_counts_default_score_reads_no_object_list(
    project: Project, images: list[Image], django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        counts = object_counts(project)
    assert [counts[image.pk].total for image in images[:4]] == [3, 3, 5, 2]
    assert images[4].pk not in counts


def test_launch_page_shows_limits_and_launches_within_them(
    client: Client, researcher: User, project: Project, images: list[Image]
) -> None:
    client.force_login(researcher)
    address = reverse("batch-new", args=[project.slug]) + "?kind=vcr_qar"
    page = client.get(address).content.decode()
    assert 'All <b class="num">2</b> photos' in page
    assert 'name="min_people"' in page
    values = {"min_objects": "2", "min_people": "1", "min_score": "0.7"}
    confirm = client.post(address, FORM | values | {"step": "estimate"}).content.decode()
    assert "people, at least 1" in confirm
    assert client.post(address, FORM | values).status_code == 302
    batch = Batch.objects.get()
    assert [unit.payload["image"] for unit in batch.units.order_by("pk")] == ids(*images[:4])
    assert batch.provenance["photos"]["options"] == {"min_objects": 2, "min_people": 1, "min_score": 0.7}


def test_launch_page_without_fitting_photos_offers_other_limits(
    client: Client, researcher: User, project: Project, make_image: Callable[..., Image]
) -> None:
    market.fund()
    build_object_set(make_image(1), detection_run(project), 1, 0).save()
    client.force_login(researcher)
    address = reverse("batch-new", args=[project.slug]) + "?kind=vcr_qar"
    assert "No photo has enough detected objects" in client.get(address).content.decode()
    refused = client.post(address, FORM)
    assert refused.status_code == 400
    assert "change the limits" in refused.content.decode()
    unknown = client.post(address, FORM | {"model": "77"})
    assert "There is no interest model 77; known numbers: none." in unknown.content.decode()
    assert client.post(address, FORM | {"min_objects": "1", "min_people": "0"}).status_code == 302
