"""Verdicts on images from writing tasks, judging tasks and researchers, and which of them count."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User

from curation.interest.labels import verdict_sums
from curation.models import InterestLabel
from curation.selectors import interest
from curation.selectors.interest import (
    all_verdicts,
    count_labelled_images,
    images_to_label,
    interest_verdicts,
    label_summary,
    last_labelled_image,
    newest_label,
    verdict_counts,
)
from curation.selectors.writing_units import PLANNER
from curation.services.interest import label_image
from hits import registry
from hits.domain.states import AssignmentStatus
from hits.models import Batch, Hit, Image, Project
from hits.services.errors import Refused
from hits.services.images.take_down import take_down_image
from hits.services.launching.launch import PlannedUnit, launch_batch
from tests.support.judging.work import Work
from tests.support.vcr.frames import build_object_set, detection_run
from validation.services.units import launch_from_file, plan_photo_units

pytestmark = pytest.mark.django_db
QUESTION = {
    "question": ["Why does ", {"objects": [0]}, " look at ", {"objects": [1]}, "?"],
    "answer": [{"objects": [0]}, " is angry with ", {"objects": [1]}, "."],
    "rationale": ["The fists of ", {"objects": [0]}, " are clenched."],
    "likelihood": "likely",
}


@pytest.fixture
def images(project: Project, make_image: Callable[..., Image]) -> list[Image]:
    """Return three images with two people and a dog each."""
    run = detection_run(project)
    found = [make_image(seed) for seed in (1, 2, 3)]
    for image in found:
        build_object_set(image, run, 2, 1).save()
    return found


def published(work: Work, batch: Batch) -> list[Hit]:
    work.publish(batch)
    return list(Hit.objects.filter(unit__batch=batch).order_by("pk"))


def write(work: Work, image: Image, *workers: tuple[str, int], **more: Any) -> None:
    """Launch a writing task about an image, and let workers answer it with their verdicts."""
    (unit,) = PLANNER.units(work.project, [image.pk])
    kind = registry.get_kind("vcr_qar")
    planned = [PlannedUnit(kind.unit_key(unit), unit)]
    batch, _ = launch_batch(project=work.project, kind_name=kind.name, name="Writing", units=planned, by=None)
    (hit,) = published(work, batch)
    for worker, verdict in workers:
        answer = {"triplets": [QUESTION], "interest": verdict, "objects_sha256": unit["objects_sha256"]}
        work.answered(hit, worker, answer, **more)


def judge(work: Work, images: Sequence[Image], worker: str, *verdicts: int) -> None:
    """Launch a judging task about images, and let a worker answer it."""
    kind = registry.get_kind("image_interest")
    units = plan_photo_units(project=work.project, kind=kind, photos=[image.pk for image in images])
    batch, _ = launch_from_file(project=work.project, kind=kind, units=units, by=None)
    (hit,) = published(work, batch)
    rows = zip(images, verdicts, strict=True)
    answer = {"verdicts": [{"image": image.pk, "verdict": verdict} for image, verdict in rows]}
    work.answered(hit, worker, answer, status=AssignmentStatus.SUBMITTED)


def test_interest_verdicts_one_for_each_worker_in_order_of_submission(
    work: Work, images: list[Image]
) -> None:
    write(work, images[0], ("W3", 1), ("W1", -1))
    write(work, images[1], ("W2", 0))
    write(work, images[0], ("W2", 0), ("W3", -1))
    assert interest_verdicts(work.project) == {images[0].pk: [-1, -1, 0], images[1].pk: [0]}


def test_interest_verdicts_unapproved_unconfirmed_and_taken_down_work_is_missing(
    work: Work, images: list[Image], admin: User
) -> None:
    write(work, images[0], ("W1", 1), status=AssignmentStatus.SUBMITTED)
    write(work, images[0], ("W2", 1), status=AssignmentStatus.REJECTED)
    write(work, images[0], ("W3", 1), confirmed=False)
    write(work, images[1], ("W1", 1))
    assert interest_verdicts(work.project) == {images[1].pk: [1]}
    take_down_image(image=images[1], reason="asked for", by=admin)
    assert interest_verdicts(work.project) == {}


def test_all_verdicts_of_three_sources_are_summed_by_person(
    work: Work, images: list[Image], researcher: User, admin: User
) -> None:
    write(work, images[0], ("W1", 1), ("W2", 1))
    judge(work, images, "W1", -1, 1, 0)
    label_image(image=images[0], verdict=1, by=researcher)
    label_image(image=images[2], verdict=-1, by=researcher)
    label_image(image=images[2], verdict=1, by=researcher)
    label_image(image=images[2], verdict=1, by=admin)
    verdicts = all_verdicts(work.project)
    assert verdict_counts(verdicts) == {"writing tasks": 2, "judging tasks": 3, "researchers": 4}
    # W1 changed the verdict on the first image, and the researcher that on the third.
    assert verdict_sums(verdicts) == {images[0].pk: 1, images[1].pk: 1, images[2].pk: 2}


def test_label_summary_is_cached_until_something_changes(
    work: Work,
    images: list[Image],
    researcher: User,
    admin: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    label_image(image=images[0], verdict=1, by=researcher)
    label_image(image=images[1], verdict=-1, by=researcher)
    first = label_summary(work.project)
    assert (first.interesting, first.boring, first.verdicts) == (1, 1, 2)
    with monkeypatch.context() as patch:
        patch.setattr(interest, "all_verdicts", None)
        assert label_summary(work.project) == first
    label_image(image=images[1], verdict=1, by=researcher)
    assert (label_summary(work.project).interesting, label_summary(work.project).boring) == (2, 0)
    write(work, images[2], ("W1", -1))
    assert label_summary(work.project).by_source == {
        "writing tasks": 1,
        "judging tasks": 0,
        "researchers": 3,
    }
    take_down_image(image=images[0], reason="asked for", by=admin)
    assert label_summary(work.project).interesting == 1


def test_all_verdicts_taken_down_images_and_other_projects_are_left_out(
    work: Work, images: list[Image], rehearsal: Project, make_image: Callable[..., Image], admin: User
) -> None:
    label_image(image=images[0], verdict=1, by=admin)
    label_image(image=images[1], verdict=1, by=admin)
    label_image(image=make_image(9, into=rehearsal), verdict=1, by=admin)
    take_down_image(image=images[0], reason="asked for", by=admin)
    assert {verdict.image for verdict in all_verdicts(work.project)} == {images[1].pk}


def test_label_image_bad_verdict_or_taken_down_image_is_refused(images: list[Image], admin: User) -> None:
    with pytest.raises(Refused, match=r"verdict: 2 is not known"):
        label_image(image=images[0], verdict=2, by=admin)
    take_down_image(image=images[0], reason="asked for", by=admin)
    images[0].refresh_from_db()
    with pytest.raises(Refused, match="was taken down; label another one"):
        label_image(image=images[0], verdict=1, by=admin)
    assert not InterestLabel.objects.exists()


def test_images_to_label_each_person_sees_every_image_with_objects_once(
    project: Project, images: list[Image], make_image: Callable[..., Image], researcher: User, admin: User
) -> None:
    make_image(8)  # without an object list
    seen = []
    while images_left := images_to_label(project, researcher, 2):
        image = images_left[0]
        seen.append(image.pk)
        label_image(image=image, verdict=0, by=researcher)
        assert last_labelled_image(project, researcher) == image
    assert sorted(seen) == sorted(image.pk for image in images)
    assert count_labelled_images(project, researcher) == 3
    (first, _) = images_to_label(project, admin, 2)
    assert first.pk == seen[0], "the order is the same for everybody"
    label_image(image=first, verdict=1, by=researcher)
    newest = newest_label(first, researcher)
    assert newest is not None
    assert newest.verdict == 1
    assert newest_label(first, admin) is None
