"""A worker sees on the Work page, and in the menu, that a trainer answered, until the message was opened."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import translation

from hits.domain.states import TrainingOutcome
from hits.domain.workers import notices
from hits.models import Hit, Image, Project
from hits.mturk.boto import marketplace
from hits.services.outbox import outbox
from tests.support import market
from tests.support.answers import observations
from tests.support.axe import check_sizes
from tests.support.loop import collected, published
from validation.services.training import give_feedback

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(("locale", "width"), [("en-GB", 1280), ("de-DE", 390)])
def test_trainers_answer_is_on_the_work_page_until_it_is_read(
    site: str,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    make_image: Callable[..., Image],
    researcher: User,
    locale: str,
    width: int,
) -> None:
    market.fund()
    batch = published(project, [make_image(1)], kind="sherlock_training")
    market.work(Hit.objects.get(), market.market_worker("wilma"), observations())
    remark = {"observation": 1, "part": "clue", "box": None, "text": "Which cup?"}
    give_feedback(
        assignment=collected(batch)[0],
        outcome=TrainingOutcome.RETRY,
        summary="",
        remarks=[remark],
        by=researcher,
    )
    outbox.settle_outstanding_calls(marketplace=marketplace())
    with translation.override(locale[:2]):
        subject = translation.gettext(notices.TRAINER_RETRY)
    page = open_page(width, 844, locale=locale)
    sign_in(page, "wilma")
    assert page.locator("nav .unread").inner_text().startswith("1")
    line = page.locator("[data-unread]")
    assert subject in line.inner_text()
    check_sizes(page, f"work with a message, {locale}", [(width, "light")])
    line.get_by_role("link").click()
    page.get_by_text("Clue of observation 1: Which cup?").wait_for()
    assert page.locator("article h2").inner_text() == subject
    page.goto("/work/")
    assert page.locator("[data-unread]").count() == 0
    assert page.locator("nav .unread").count() == 0
