"""A family's own qualification: its kind, its exam, its pass rule, its units with objects, its grading page."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from hits import registry
from hits.models import Batch, Hit, Image, Project
from hits.services.errors import Refused
from tests.support import market
from tests.support.loop import collected
from tests.support.pages import squeezed
from tests.support.vcr.frames import build_object_set, detection_run
from validation.domain.qualification.outcome import PassRule
from validation.models import GradingOutcome, QualificationRound
from validation.selectors.grading import PairKey, grading_queue
from validation.selectors.rounds import qualification_kind, training_kind
from validation.services.applicant_decisions import decide_applicants
from validation.services.grading import GradeInput, save_grade
from validation.services.rounds import (
    Admission,
    ExamQuestion,
    launch_qualification_round,
    launch_training_round,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def vcr(project: Project) -> Project:
    """Return a project of the family vcr."""
    Project.objects.filter(pk=project.pk).update(family="vcr")
    project.refresh_from_db()
    return project


@pytest.fixture
def images(vcr: Project, make_image: Callable[..., Image]) -> list[Image]:
    """Return two photos with people and a dog, and one without objects."""
    market.fund()
    found = [make_image(seed, width=320, height=240) for seed in range(3)]
    run = detection_run(vcr)
    for image in found[:2]:
        build_object_set(image, run, 2, 1).save()
    return found


def application(hit: Hit, *, wrong: int = 0) -> dict[str, Any]:
    """Return a complete answer to an exam, with some wrong choices."""
    payload = hit.unit.payload
    exam = [
        {"question": row["id"], "choice": (row["right"] + (number < wrong)) % len(row["choices"])}
        for number, row in enumerate(payload["questions"])
    ]
    triplet = {
        "question": ["Why does ", {"objects": [0]}, " wait?"],
        "answer": [{"objects": [1]}, " is late again."],
        "rationale": ["People look around when they wait for somebody."],
        "likelihood": "likely",
    }
    return {"exam": exam, "triplet": triplet, "objects_sha256": payload["objects_sha256"]}


def launched(vcr: Project, images: list[Image], **more: Any) -> QualificationRound:
    from hits.mturk.boto import marketplace
    from hits.services.publishing import publish

    found, _ = launch_qualification_round(
        project=vcr, image_sets=[[image.pk] for image in images[:2]], applicants=4, by=None, **more
    )
    publish.publish_batch(batch=found.batch, marketplace=marketplace())
    return found


def test_family_with_its_own_qualification_gets_it(project: Project, vcr: Project) -> None:
    assert registry.get_kind(qualification_kind(vcr)).families == {"vcr"}
    assert training_kind(vcr) is None
    with pytest.raises(Refused, match="family vcr have no training task"):
        launch_training_round(project=vcr, images=[1], slots=1, by=None)
    for family in ("sherlock", "tiny"):
        project.family = family
        assert not registry.get_kind(qualification_kind(project)).families
        assert training_kind(project) is not None


def test_round_has_the_kinds_exam_and_pass_rule(vcr: Project, images: list[Image]) -> None:
    found = launched(vcr, images)
    assert (found.needed, found.exam_needed, found.graders) == (1, 8, 1)
    payloads = [hit.unit.payload for hit in Hit.objects.filter(unit__batch=found.batch).order_by("pk")]
    assert {payload["image"] for payload in payloads} == {images[0].pk, images[1].pk}
    assert all(len(payload["questions"]) == 10 and len(payload["objects"]) == 3 for payload in payloads)


def test_own_questions_replace_the_built_in_ones(vcr: Project, images: list[Image]) -> None:
    found = launched(
        vcr, images, admission=Admission(questions=[ExamQuestion("Is it wet?", ("Yes", "No"), 0)])
    )
    assert [row["id"] for row in Hit.objects.first().unit.payload["questions"]] == ["q1"]
    assert found.exam_needed == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_sets": []}, "at least one set of one photo"),
        ({"image_sets": [[1, 2]]}, "image set 1: use one photo; it has 2 different ones"),
        ({"admission": Admission(PassRule(needed=2))}, "use 1 to 1 reasonable triplets"),
        ({"admission": Admission(PassRule(1, 11))}, "there are 10 questions"),
    ],
)
def test_impossible_round_is_refused(
    vcr: Project, images: list[Image], change: dict[str, Any], message: str
) -> None:
    values: dict[str, Any] = {"image_sets": [[images[0].pk]], "applicants": 3} | change
    with pytest.raises(Refused, match=message):
        launch_qualification_round(project=vcr, by=None, **values)
    assert not Batch.objects.exists()


def test_photo_without_objects_is_refused(vcr: Project, images: list[Image]) -> None:
    with pytest.raises(
        Refused, match=f"photo {images[2].pk}: cannot be used for this task. No photo has enough"
    ):
        launch_qualification_round(project=vcr, image_sets=[[images[2].pk]], applicants=1, by=None)


@pytest.mark.parametrize(
    ("wrong", "reasonable", "passed"), [(2, True, True), (3, True, False), (0, False, False)]
)
def test_applicant_passes_with_the_choices_and_a_reasonable_triplet(
    vcr: Project, images: list[Image], researcher: User, wrong: int, reasonable: bool, passed: bool
) -> None:
    from hits.mturk.boto import marketplace

    found = launched(vcr, images)
    hit = Hit.objects.filter(unit__batch=found.batch).order_by("pk")[0]
    submission = market.work(hit, market.market_worker(), application(hit, wrong=wrong))
    (assignment,) = collected(found.batch)
    assert assignment.record_error is None
    (card,) = grading_queue(found, researcher).cards
    assert card.as_page_dict()["text-1"] == "Why does person 1 wait?"
    assert len(card.pair.marks) == 3
    save_grade(
        qualification_round=found,
        grade=GradeInput(PairKey(submission.pk, 0), reasonable, "" if reasonable else "too plain"),
        by=researcher,
    )
    decide_applicants(qualification_round=found, by=researcher, marketplace=marketplace())
    outcome = GradingOutcome.objects.get()
    assert outcome.passed is passed
    assert f"{int(reasonable)} of 1 triplet was found reasonable" in outcome.reason
    assert ("Tasks for qualified workers are open to you now." in outcome.reason) is passed
    assert ("Photo 1, triplet 1: too plain" in outcome.reason) is (not reasonable)


def test_pages_of_the_round_speak_of_triplets(
    vcr: Project, images: list[Image], client: Client, researcher: User
) -> None:
    found = launched(vcr, images)
    hit = Hit.objects.filter(unit__batch=found.batch).order_by("pk")[0]
    market.work(hit, market.market_worker(), application(hit))
    (assignment,) = collected(found.batch)
    client.force_login(researcher)
    new = squeezed(client.get(reverse("qualification-new", args=[vcr.slug])))
    assert "Triplets to pass" in new
    assert "the exam has 10 built-in ones" in new
    assert new.count('name="photos"') == 2, "photos without objects cannot be chosen"
    for name, args in (("qualification-round", [found.pk]), ("grading", [found.pk]), ("applicants", [])):
        page = squeezed(client.get(reverse(name, args=[vcr.slug, *args])))
        assert "riplet" in page, name
        assert " pair" not in page.replace("pair-title", ""), name
        assert "Launch a training round" not in page
    assert client.get(reverse("training-new", args=[vcr.slug])).status_code == 404
    evidence = squeezed(client.get(reverse("assignment-detail", args=[assignment.pk])))
    assert "<b>1</b>" in evidence
    assert evidence.count("Right</span>") == 10


def test_round_is_launched_in_two_steps_on_its_page(
    vcr: Project, images: list[Image], client: Client, researcher: User
) -> None:
    client.force_login(researcher)
    form = {
        "name": "",
        "reward": "1.10",
        "assignments": "9",
        "needed": "1",
        "graders": "2",
        "exam_needed": "8",
        "photos": [str(images[0].pk)],
    }
    url = reverse("qualification-new", args=[vcr.slug])
    estimate = squeezed(client.post(url, form | {"step": "estimate"}))
    assert "1 of 1</span> triplets reasonable" in estimate
    assert "8 of 10</span> correct answers" in estimate
    assert "two graders per triplet" in estimate
    client.post(url, form | {"step": "launch", "idempotency_key": "a key"})
    assert QualificationRound.objects.get().graders == 2


def test_command_launches_the_familys_round(vcr: Project, images: list[Image]) -> None:
    flags = ["qualification", "--project", vcr.slug, "--assignments", "2"]
    call_command("launch_round", *flags, "--sets", "2", stdout=StringIO())
    found = QualificationRound.objects.get()
    assert (found.needed, found.exam_needed) == (1, 8)
    with pytest.raises(CommandError, match="3 sets need 3 photos, and there are 2"):
        call_command("launch_round", *flags, "--sets", "3", stdout=StringIO())
