"""A large draft in a browser: its contents are counted by a job, and shown when the job is done."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from curation import tasks
from curation.services import drafts
from curation.services import versions as services
from hits.models import Job, Project
from tests.support.axe import check_sizes
from tests.support.many_pairs import fill_pairs
from tests.support.pages import give_time

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SIZES = [(390, "light"), (1280, "light")]


def test_a_large_draft_is_counted_by_a_job(
    site: str,
    project: Project,
    open_page: Callable[..., Any],
    sign_in: Any,
    researcher: User,
) -> None:
    fill_pairs(project, 40, drafts.MAX_INLINE_PAIRS + 1)
    draft = services.create_version(project=project, name="v1", by=None)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(site + reverse("version", args=[draft.pk]))
    check_sizes(page, "to be counted", SIZES)
    page.get_by_role("button", name="Count its contents").click()
    expect(page.get_by_role("link", name="Count the contents of v1")).to_be_visible()
    check_sizes(page, "while it is counted", SIZES)
    tasks.plan_version(Job.objects.get(task="curation.plan_version").pk)
    # The page follows its job and reloads itself, which would break off a navigation of ours.
    expect(page.get_by_text(f"+{drafts.MAX_INLINE_PAIRS + 1} added")).to_be_visible()
    check_sizes(page, "counted", SIZES)


def test_the_end_of_a_job_does_not_stop_a_page_that_somebody_waits_for(
    site: str, project: Project, open_page: Callable[..., Any], sign_in: Any, researcher: User
) -> None:
    """Whoever follows a link while the server is slow gets there, though the page would reload itself meanwhile."""
    fill_pairs(project, 4, drafts.MAX_INLINE_PAIRS + 1)
    draft = services.create_version(project=project, name="v1", by=None)
    drafts.request_draft_plan(version=draft, by=researcher)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(site + reverse("version", args=[draft.pk]))
    held: list[Any] = []
    versions = reverse("versions", args=[project.slug])
    page.route(f"{site}{versions}", lambda route: held.append(route))
    page.locator(".crumbs").get_by_role("link", name="Versions").click(no_wait_after=True)
    give_time(page, lambda: bool(held))
    tasks.plan_version(Job.objects.get(task="curation.plan_version").pk)
    with page.expect_response("**/api/jobs/**") as notified:
        pass  # the page now knows that its job has ended
    notified.value.finished()
    held.pop().continue_()
    page.wait_for_url(f"**{versions}")
