"""Grading an exam's triplet in a browser: its photo has the numbered objects, and keys grade."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.models import Project
from tests.support import market
from tests.support.axe import check_sizes
from tests.support.loop import collected
from tests.support.mentions import SHA256, question_hit
from tests.support.pages import until, wait_until_seen
from validation.models import Grade, QualificationRound

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TRIPLET = {
    "question": ["Why does ", {"objects": [0]}, " wave?"],
    "answer": [{"objects": [1]}, " comes back home."],
    "rationale": ["People wave to somebody whom they have missed."],
    "likelihood": "likely",
}


@pytest.fixture
def found(site: str, project: Project) -> QualificationRound:
    """Return a round with two applicants."""
    name = "vcr_exam"
    hit = question_hit(project, kind=name, questions=[])
    for worker in ("wilma", "walter"):
        answer = {"exam": [], "triplet": TRIPLET, "objects_sha256": SHA256}
        market.work(hit, market.market_worker(worker), answer)
    collected(hit.unit.batch)
    return QualificationRound.objects.create(batch=hit.unit.batch, needed=1, exam_needed=0, graders=1)


def test_triplet_is_graded_beside_its_numbered_objects(
    found: QualificationRound,
    project: Project,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    researcher: User,
) -> None:
    page = open_page()
    sign_in(page, "rosa")
    page.goto(f"/projects/{project.slug}/applicants/{found.pk}/grading")
    wait_until_seen(page)
    photo = page.locator("[data-marked]")
    assert sorted(photo.locator("[data-tab] text").all_text_contents()) == ["1", "2", "3", "4", "5"]
    assert page.locator("[data-text=text-1]").inner_text() == "Why does person 1 wave?"
    assert page.locator("[data-position]").inner_text() == "Triplet 1 of 2 waiting"
    page.keyboard.press("1")
    assert page.locator("[data-position]").inner_text() == "Triplet 2 of 2 waiting"
    assert photo.locator("[data-tab]").count() == 5
    check_sizes(page, "grading", [(390, "light"), (1280, "dark")])
    until(page, lambda: Grade.objects.filter(reasonable=True).count() == 1, "the grade was not saved")
