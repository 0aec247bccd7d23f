"""Work review, its digests and choice rounds in a real browser: readable, accessible and wide enough."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from curation.models import Stage
from curation.services.lambda_tuning import launch_pilot
from hits.models import Assignment, Hit, Project, Worker
from tests.support import market
from tests.support.axe import check_sizes
from tests.support.judging.work import Work
from tests.support.vcr.choices import choose, launched_round, small_set
from tests.support.vcr.reviews import review_answer, written
from validation.domain.qualification.work_digest import window_number
from validation.services.work_reviews import launch_work_review, set_reviewer

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]


@pytest.fixture
def work(site: str, project: Project) -> Work:
    market.fund()
    return Work(project)


def test_work_review_and_digests_are_readable(
    work: Work, open_page: OpenPage, sign_in: Callable[[Any, str], None], researcher: User
) -> None:
    rows = [written(work, work.image(n), f"AUTHOR{n % 2}") for n in range(5)]
    launched = launch_work_review(project=work.project, by=None, every=1, seed=3)
    assert launched.batch is not None
    work.publish(launched.batch)
    reviewer = Worker.objects.create(environment="local", worker_id="REVIEWER")
    set_reviewer(project=work.project, worker=reviewer, is_reviewer=True, reason="Clear.", by=None)
    for row, label in zip(rows[:4], ("wrong", "reasonable", "unlikely", "reasonable"), strict=True):
        hit = Hit.objects.get(unit__key=row.pk.hex)
        work.answered(hit, "REVIEWER", review_answer(2, answer=label))
    written(work, work.image(9), "AUTHOR1")
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("work-review", args=[work.project.slug]))
    check_sizes(page, "work review", SIZES)
    page.goto(f"{reverse('work-digests', args=[work.project.slug])}?window={window_number(work.clock)}")
    page.locator("details summary").first.click()
    check_sizes(page, "digests", SIZES)
    reviewed = rows[0].pk.hex
    page.goto(reverse("judging-item", args=[work.project.slug, "work_review", reviewed]))
    check_sizes(page, "a reviewed submission", SIZES)
    review = Assignment.objects.get(hit__unit__key=reviewed)
    page.goto(reverse("assignment-detail", args=[review.pk]))
    check_sizes(page, "a review", SIZES)


def test_choice_rounds_are_readable(
    work: Work, open_page: OpenPage, sign_in: Callable[[Any, str], None], researcher: User
) -> None:
    question_set = small_set(work.project, similarity="vectors")
    pilot, _ = launch_pilot(question_set=question_set, stage=Stage.ANSWER, each=3, by=None)
    work.publish(pilot.batch)
    choose(work, pilot, [[True] * 5, [True, True, False, False], [False] * 5], names="P", several=True)
    rounds = [launched_round(work, question_set, stage, accept_stand_in=True, seed=5) for stage in Stage]
    choose(work, rounds[0], [[True] * 5] * 3 + [[False] * 3])
    choose(work, rounds[1], [[True] * 5] * 4, names="K")
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("choice-rounds", args=[work.project.slug]))
    check_sizes(page, "choice rounds", SIZES)
    judged = Assignment.objects.filter(hit__unit__batch=rounds[1].batch)[0]
    page.goto(reverse("judging-item", args=[work.project.slug, "vcr_choice", judged.hit.unit.key]))
    check_sizes(page, "an answered question", SIZES)
    page.goto(reverse("assignment-detail", args=[judged.pk]))
    page.locator(".mention").first.hover()
    lit = page.locator(".box--on").evaluate_all("all => all.map((one) => Number(one.dataset.obs) - 1)")
    assert " ".join(map(str, sorted(lit))) == page.locator(".mention").first.get_attribute("data-objects")
    check_sizes(page, "an answer", SIZES)
