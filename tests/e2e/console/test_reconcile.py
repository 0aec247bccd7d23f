"""Reconcile and compensation in a real browser: a researcher decides, a worker hands in one tick and is paid."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.models import Assignment, Attempt, Batch, Hit, Image, Project
from hits.mturk.boto import marketplace
from hits.services.batches.compensation import approve_submitted_compensations
from hits.services.collecting import assignment_sync
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from hits.services.reconciling.reconcile import reconcile_batch
from hits.services.workers.qualifications import settle_outstanding_decisions
from tests.support import market
from tests.support.answers import observations
from tests.support.axe import check_page
from tests.support.loop import page_key, published, store

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WIDTHS = (1280, 390)


@pytest.fixture
def batch(site: str, project: Project, make_image: Callable[..., Image]) -> Batch:
    """Return a batch with work that is only on the marketplace, somebody else's, and only here."""
    market.fund()
    live = published(project, [make_image(1)], terms=LaunchTerms(redundancy=6))
    hit = Hit.objects.get()
    mine = market.work(hit, market.market_worker("matched"))
    market.submit_form(market.accept(hit, market.market_worker("made-up")), mine, submission_id="made up")
    market.submit_form(market.accept(hit, market.market_worker("thief")), mine)
    lost = market.accept(hit, market.market_worker("unlucky"))
    stored = store(page_key(hit, lost.slot.assignment_id, lost.worker.worker_id), observations(4))
    ago = timedelta(seconds=live.duration_seconds, hours=2)
    Attempt.objects.filter(pk=stored.attempt_id).update(opened_at=timezone.now() - ago)
    reconcile_batch(batch=live, marketplace=marketplace())
    return live


def _look(page: Any, name: str) -> None:
    """Check the page as it stands with axe, and that it does not scroll sideways at any width."""
    check_page(page, name)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is {wide} px too wide at {width}"
    page.set_viewport_size({"width": 1280, "height": 900})


def test_lost_work_is_compensated_by_a_task_for_its_worker_alone(
    batch: Batch, researcher: User, open_page: Callable[..., Any], sign_in: Callable[[Any, str], None]
) -> None:
    console = open_page()
    sign_in(console, researcher.username)
    console.goto(reverse("batch-detail", args=[batch.pk]))
    console.get_by_role("link", name="Reconcile 3").click()
    console.get_by_role("heading", name="Reconciliation 3 open").wait_for()
    _look(console, "reconcile")
    console.get_by_role("link", name="Decide on the submission of").nth(1).click()
    console.get_by_role("heading", name="Different answer").wait_for()
    _look(console, "mismatch")
    console.goto(reverse("batch-reconcile", args=[batch.pk]))
    console.get_by_role("link", name="Decide on the answer of").click()
    console.get_by_role("heading", name="Stored answer").wait_for()
    _look(console, "lost")
    console.get_by_label("Reason").fill("The network broke.")
    console.get_by_role("button", name="Compensate with $1.25").click()
    console.get_by_role("link", name="Compensated").wait_for()
    _look(console, "decided")
    _carry_out()

    page = open_page(width=390, height=844)
    sign_in(page, "unlucky")
    page.goto("/work/")
    page.get_by_text("Get paid for lost work").first.wait_for()
    page.get_by_role("button", name="Start").first.click()
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready=true]").wait_for(state="attached")
    check_page(page, "compensation")
    frame.get_by_role("button", name="Submit for $1.25").click(force=True)  # it says what is missing
    assert frame.locator("#mine").evaluate("tick => tick === document.activeElement")
    frame.get_by_label("I did this work.").check()
    frame.get_by_role("button", name="Submit for $1.25").click()
    page.get_by_text("Submitted", exact=False).first.wait_for()
    compensation = Batch.objects.get(kind="compensation")
    assignment_sync.sync_batch(batch=compensation, marketplace=marketplace())
    assert approve_submitted_compensations(marketplace=marketplace()) == 1
    paid = Assignment.objects.get(hit__unit__batch=compensation)
    assert (paid.match, paid.status) == (SubmissionMatch.MATCHED, AssignmentStatus.APPROVED)


def _carry_out() -> None:
    settle_outstanding_decisions(marketplace=marketplace())
    publish.publish_batch(batch=Batch.objects.get(kind="compensation"), marketplace=marketplace())
