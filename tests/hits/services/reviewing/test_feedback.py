"""Trainers' feedback: validated by field, stored once, shown only to its worker at the next attempt."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.models import Pair
from hits.domain.states import TrainingOutcome
from hits.models import AuditEvent, Feedback, Hit, Image, Project, Submission
from hits.selectors import feedback as read
from hits.services.collecting.page_keys import PageKey, issue_token
from hits.services.errors import Refused
from hits.services.reviewing import feedback
from tests.support import market
from tests.support.answers import observation
from tests.support.loop import collected, page_key, published, store

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
KIND = "sherlock_training"


def _answer() -> dict[str, Any]:
    return {"observations": [observation(index, boxes=2 if index == 1 else 1) for index in (1, 2, 3)]}


@pytest.fixture
def attempt(project: Project, make_image: MakeImage) -> Submission:
    """Return a confirmed training submission of the worker wilma."""
    market.fund()
    batch = published(project, [make_image(1)], kind=KIND)
    submission = market.work(Hit.objects.get(), market.market_worker("wilma"), _answer())
    collected(batch)
    return submission


def _write(submission: Submission, **more: Any) -> Feedback:
    values: dict[str, Any] = {"outcome": "again", "summary": "Closer.", "remarks": [], "by": None} | more
    return feedback.write_feedback(submission=submission, **values)


def _opened(hit: Hit, assignment: str, worker_id: str) -> dict[str, Any]:
    assert hit.hit_id is not None
    key = PageKey(str(hit.unit.public_id), hit.hit_id, assignment, worker_id)
    response = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://")).post(
        reverse("hit-api-open"),
        data="{}",
        content_type="application/json",
        headers={"Authorization": f"Bearer {issue_token(key)}"},
    )
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    return body


def test_remarks_keep_their_card_and_field(attempt: Submission, admin: User) -> None:
    rows = [
        {"observation": 1, "part": "boxes", "box": 2, "text": "This shows the   sky."},
        {"observation": 2, "part": "clue", "box": None, "text": "Say where it is."},
        {"observation": 3, "text": "The same as the first."},
        {"observation": None, "part": None, "box": None, "text": "Well begun.\r\n\r\nGo on."},
    ]
    row = _write(attempt, remarks=rows, by=admin)
    assert row.outcome == TrainingOutcome.RETRY
    assert row.written_by == admin
    assert row.remarks == [
        {"observation": 1, "part": "boxes", "box": 2, "text": "This shows the sky."},
        {"observation": 2, "part": "clue", "box": None, "text": "Say where it is."},
        {"observation": 3, "part": None, "box": None, "text": "The same as the first."},
        {"observation": None, "part": None, "box": None, "text": "Well begun.\n\nGo on."},
    ]
    event = AuditEvent.objects.get(action="feedback.write")
    assert event.data == {"outcome": "again", "remarks": 4}


def _remark(**more: Any) -> list[dict[str, Any]]:
    return [{"observation": 1, "part": None, "box": None, "text": "Hm."} | more]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"outcome": "passed"}, "outcome"),
        ({"outcome": ""}, "outcome"),
        ({"summary": ""}, "summary"),
        ({"summary": "x" * 2001}, "summary"),
        ({"summary": "a \x07 bell"}, "summary"),
        ({"summary": None}, "summary"),
        ({"remarks": "text"}, "remarks"),
        ({"remarks": _remark() * 41}, "remarks"),
        ({"remarks": ["text"]}, "remarks[0]"),
        ({"remarks": _remark(colour="red")}, "remarks[0]"),
        ({"remarks": _remark(observation=4)}, "remarks[0].observation"),
        ({"remarks": _remark(observation=True)}, "remarks[0].observation"),
        ({"remarks": _remark(observation="1")}, "remarks[0].observation"),
        ({"remarks": _remark(observation=[1])}, "remarks[0].observation"),
        ({"remarks": _remark(part="title")}, "remarks[0].part"),
        ({"remarks": _remark(part=["clue"])}, "remarks[0].part"),
        ({"remarks": _remark(observation=None, part="clue")}, "remarks[0].part"),
        ({"remarks": _remark(box=1)}, "remarks[0].box"),
        ({"remarks": _remark(part="boxes", box=3)}, "remarks[0].box"),
        ({"remarks": _remark(part="boxes", box=0)}, "remarks[0].box"),
        ({"remarks": _remark(part="boxes", box=True)}, "remarks[0].box"),
        ({"remarks": _remark(observation=None, box=1)}, "remarks[0].box"),
        ({"remarks": _remark(text="  ")}, "remarks[0].text"),
        ({"remarks": _remark(text="x" * 1001)}, "remarks[0].text"),
        ({"remarks": _remark(text=3)}, "remarks[0].text"),
    ],
)
def test_a_refusal_names_the_field_and_writes_nothing(
    attempt: Submission, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(Refused) as caught:
        _write(attempt, **change)
    assert str(caught.value).split(":")[0] == field
    assert not Feedback.objects.exists()
    assert not AuditEvent.objects.filter(action="feedback.write").exists()


def test_feedback_that_passes_needs_no_summary(attempt: Submission) -> None:
    row = _write(attempt, outcome="complete", summary="")
    assert (row.outcome, row.summary) == ("complete", "")


def test_same_feedback_again_is_the_same_row(attempt: Submission) -> None:
    first = _write(attempt, remarks=_remark())
    assert _write(attempt, remarks=_remark()).pk == first.pk
    second = _write(attempt, remarks=_remark(text="On second thoughts."))
    assert second.pk != first.pk
    assert Feedback.objects.count() == 2


def test_feedback_on_unconfirmed_or_other_work_is_refused(project: Project, make_image: MakeImage) -> None:
    market.fund()
    published(project, [make_image(1)])
    collecting = market.work(Hit.objects.get(), market.market_worker("wilma"))
    collected(collecting.attempt.hit.unit.batch)
    with pytest.raises(Refused, match="only training"):
        _write(collecting)
    published(project, [make_image(2)], kind=KIND)
    hit = Hit.objects.get(unit__batch__kind=KIND)
    worker = market.market_worker("walter")
    task = market.accept(hit, worker)
    unconfirmed = store(page_key(hit, task.slot.assignment_id, worker.worker_id), _answer())
    with pytest.raises(Refused, match="not confirmed"):
        _write(unconfirmed)


def test_training_writes_no_record(attempt: Submission) -> None:
    assert attempt.assignment.match == "matched"
    assert not Pair.objects.exists()


def test_the_next_attempt_shows_the_newest_answer(
    attempt: Submission, project: Project, make_image: MakeImage
) -> None:
    _write(attempt, summary="First thoughts.")
    written = _write(attempt, summary="Second thoughts.", remarks=_remark())
    published(project, [make_image(2)], kind=KIND)
    hit = Hit.objects.exclude(pk=attempt.attempt.hit_id).get()
    shown = _opened(hit, "3NEXT", attempt.attempt.worker.worker_id)["feedback"]
    assert shown["outcome"] == "again"
    assert shown["summary"] == "Second thoughts."
    assert shown["remarks"] == written.remarks
    assert shown["written_at"] == written.written_at.isoformat()
    assert shown["observations"] == attempt.answer["observations"]
    assert shown["image"]["id"] == attempt.images[0]["id"]
    assert set(shown) == {"outcome", "summary", "remarks", "written_at", "image", "observations"}


def test_another_worker_another_project_and_another_kind_see_nothing_of_it(
    attempt: Submission, project: Project, rehearsal: Project, make_image: MakeImage
) -> None:
    _write(attempt)
    worker = attempt.attempt.worker
    published(project, [make_image(2)], kind=KIND)
    training = Hit.objects.exclude(pk=attempt.attempt.hit_id).get()
    assert _opened(training, "3OTHER", "ASOMEBODYELSE")["feedback"] is None
    assert read.latest_feedback(worker, rehearsal, KIND) is None
    assert read.latest_feedback(worker, project, "sherlock_observation") is None
    published(project, [make_image(3)])
    collecting = Hit.objects.get(unit__batch__kind="sherlock_observation")
    assert _opened(collecting, "3MORE", worker.worker_id)["feedback"] is None


def test_a_photo_that_was_taken_down_is_not_shown_again(attempt: Submission, project: Project) -> None:
    _write(attempt)
    image = Image.objects.get()
    Image.objects.filter(pk=image.pk).update(taken_down_at=timezone.now())
    found = read.latest_feedback(attempt.attempt.worker, project, KIND)
    assert found is not None
    assert found.image is None
    assert image.file.name not in json.dumps(found.as_page_dict())


def test_two_queries(attempt: Submission, project: Project, django_assert_num_queries: Any) -> None:
    _write(attempt)
    worker = attempt.attempt.worker
    with django_assert_num_queries(2):
        read.latest_feedback(worker, project, KIND)
