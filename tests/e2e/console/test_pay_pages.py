"""Pay and top-up in a browser: a researcher sees what is under the target and lifts it; axe finds nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.domain.states import CallState
from hits.models import Batch, Hit, Image, OutgoingCall, Project, TopUp
from hits.services.launching.terms import LaunchTerms
from tests.support import market
from tests.support.answers import observations
from tests.support.axe import check_sizes
from tests.support.loop import approve, collected, published
from tests.support.pages import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SIZES = [(1280, "light"), (768, "light"), (390, "dark")]


@pytest.fixture
def batch(project: Project, make_image: Callable[..., Image]) -> Batch:
    """Return a batch whose three submissions are approved, and two of them under the target."""
    market.fund()
    batch = published(
        project, [make_image(n) for n in range(3)], terms=LaunchTerms(reward_cents=100, bonus_cents=10)
    )
    for hit, seconds in zip(Hit.objects.order_by("pk"), (200.0, 300.0, 400.0), strict=True):
        market.work(hit, market.market_worker(f"w{hit.pk}"), observations(), active_seconds=seconds)
    for row in collected(batch):
        approve(row)
    return batch


@pytest.mark.long
def test_axe_finds_nothing_and_no_table_is_cut_off(
    batch: Batch,
    open_page: Callable[..., Any],
    sign_in: Callable[..., None],
    admin: User,
) -> None:
    page = open_page()
    sign_in(page, admin.username)
    for address in (
        f"/projects/{batch.project.slug}/",
        f"/projects/{batch.project.slug}/pay",
        f"/projects/{batch.project.slug}/money",
        f"/batches/{batch.pk}/top-up",
        f"/batches/{batch.pk}/",
        f"/batches/{batch.pk}/reconcile",
    ):
        page.goto(address)
        check_sizes(page, address, SIZES)


def test_a_researcher_tops_up(
    batch: Batch,
    worker_process: None,
    open_page: Callable[..., Any],
    sign_in: Callable[..., None],
    researcher: User,
) -> None:
    Project.objects.update(confirm_above_cents=10)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(f"/batches/{batch.pk}/")
    page.get_by_role("link", name="Show the top-up").click()
    page.get_by_label("Maximum cost, US$").fill("0.92")
    page.get_by_role("button", name="Top up 2 submissions for $0.92").dblclick()
    page.get_by_text("Top-ups so far").wait_for()
    due = OutgoingCall.objects.filter(top_up__isnull=False).exclude(state=CallState.DONE)
    until(page, lambda: not due.exists(), "the top-ups were not paid")
    assert TopUp.objects.get().decided_by == researcher
    # The page follows its job and loads itself again when that is done.
    page.get_by_text("Every approved submission reaches the target").wait_for()
