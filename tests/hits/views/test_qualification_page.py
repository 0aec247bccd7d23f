"""The qualification HIT through its page: nine pairs come in, the exam's key never goes out."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from curation.models import Pair
from hits import registry
from hits.domain.answers.exam import ExamScore
from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT
from hits.domain.states import SubmissionMatch
from hits.models import Hit, Image, Project, Unit
from tests.support import market
from tests.support.learning import QUESTIONS, qualification, qualification_answer
from tests.support.loop import collected
from tests.support.proof import SECRET

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("attempts_are_proven")]


@pytest.fixture
def hit(project: Project, make_image: Callable[..., Image]) -> Hit:
    """Return a live qualification HIT with two questions."""
    market.fund()
    qualification(project, [make_image(seed) for seed in (1, 2, 3)])
    return Hit.objects.get()


def _page(hit: Hit, assignment: str) -> str:
    response = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://")).get(
        reverse("hit-page", args=[hit.unit.public_id]),
        {
            "assignmentId": assignment,
            "hitId": hit.hit_id,
            "workerId": "AWILMA",
            "turkSubmitTo": f"{settings.PUBLIC_URL}/a/{SECRET}",
        },
    )
    assert response.status_code == 200
    # What differs from one loading to the next by itself.
    return "".join(line for line in response.text.splitlines() if "hit-config" not in line)


@pytest.mark.parametrize("assignment", [NO_ASSIGNMENT, "3ASG"])
def test_qualification_page_does_not_reveal_right_choices(hit: Hit, assignment: str) -> None:
    page = _page(hit, assignment)
    assert QUESTIONS[0]["choices"][1] in page
    payload = copy.deepcopy(hit.unit.payload)
    payload["questions"][0]["right"], payload["questions"][1]["right"] = 0, 2
    Unit.objects.update(payload=payload)
    assert _page(hit, assignment) == page
    unit = registry.get_kind("sherlock_qualification").parse_unit(payload)
    assert unit == payload, "the other key would be a valid unit, too"


def test_an_answer_is_confirmed_graded_and_kept_out_of_the_dataset(hit: Hit) -> None:
    answer: dict[str, Any] = qualification_answer(hit)
    answer["exam"][0]["choice"] = 0
    submission = market.work(hit, market.market_worker("wilma"), answer)
    (assignment,) = collected(hit.unit.batch)
    assert assignment.match == SubmissionMatch.MATCHED
    kind = registry.get_kind(submission.kind)
    pairs = kind.gradable_items(hit.unit.payload, submission.answer)
    assert [pair.item for pair in pairs] == list(range(9))
    assert kind.exam_score(hit.unit.payload, submission.answer) == ExamScore(right=1, total=2)
    assert len(submission.images) == 3, "the fingerprints of all three photos are kept"
    assert not Pair.objects.exists()
