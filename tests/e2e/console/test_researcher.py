"""A researcher in a browser: launches a batch, approves what came in, seals and downloads a version."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from curation.models import DatasetVersion
from hits.domain.states import AssignmentStatus, BatchState
from hits.models import Assignment, Batch, Decision, Hit, Image, Project
from hits.payments import ledger
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, published
from tests.support.pages import until, wait_until_seen

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_launch_approve_and_export(
    site: str,
    worker_process: None,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    admin: User,
    make_image: Callable[..., Image],
    tmp_path: Path,
) -> None:
    market.fund()
    make_image(1), make_image(2)
    page = open_page()
    sign_in(page, admin.username)

    page.goto(f"/projects/{project.slug}/launch")
    page.locator("input[name=name]").fill("First photos")
    page.get_by_role("button", name="See what it costs").click()
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url("**/batches/**")
    batch = Batch.objects.get()
    until(page, lambda: Batch.objects.get().state == BatchState.LIVE, "the batch did not go live")

    worker = market.market_worker()
    for hit in Hit.objects.all():
        market.work(hit, worker, observations(4, salt=str(hit.pk)))
    page.goto(f"/batches/{batch.pk}/")
    with page.expect_navigation():
        page.get_by_role("button", name="Check now").click()
    until(page, lambda: Assignment.objects.count() == 2, "the submissions were not collected")

    page.goto(f"/batches/{batch.pk}/review")
    for left in (1, 0):
        with page.expect_navigation():  # the next page is another one, even where it has the same address
            page.get_by_role("button", name="Approve").first.click()
        until(
            page,
            lambda left=left: Assignment.objects.filter(status=AssignmentStatus.SUBMITTED).count() == left,
            "an approval did not arrive",
        )
    paid = 2 * (125 + 15)  # the reward that the form begins with, and a bonus
    until(page, lambda: ledger.sum_entries(batch=batch).spent == paid, "the approvals were not paid")

    page.goto(f"/projects/{project.slug}/versions/")
    page.locator("input[name=name]").fill("v1.0")
    page.get_by_role("button", name="Create draft").click()
    page.get_by_role("button", name="Seal v1.0").first.click()
    page.locator("dialog[open]").get_by_role("button", name="Seal").last.click()
    until(page, lambda: DatasetVersion.objects.get().is_sealed, "the version was not sealed")
    page.goto(f"/versions/{DatasetVersion.objects.get().pk}/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download v1.0").click()
    saved = tmp_path / "v1.0.zip"
    download.value.save_as(saved)
    with zipfile.ZipFile(saved) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("sherlock.json")]
        rows = json.loads(archive.read(name))
        assert not any(worker.worker_id in archive.read(n).decode() for n in archive.namelist())
    assert len(rows) == 8
    assert {"inputs", "targets", "instance_id"} <= set(rows[0])


def test_single_keys_pay_only_while_they_are_on(
    site: str,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    admin: User,
    make_image: Callable[..., Image],
) -> None:
    """People who dictate, or whose hands slip, turn them off; the choice survives a reload."""
    market.fund()
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker())
    collected(batch)
    page = open_page()
    sign_in(page, admin.username)
    page.goto(f"/projects/{project.slug}/review")
    page.get_by_role("button", name="Turn keys off").click()
    page.reload()
    page.get_by_role("button", name="Turn keys on").wait_for()
    wait_until_seen(page)
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.keyboard.press("a")
    with page.expect_response("**/healthz"):
        page.evaluate("fetch('/healthz')")  # what the key had sent would be on its way before this
    assert posts == []
    assert not Decision.objects.exists()
    page.get_by_role("button", name="Turn keys on").click()
    page.get_by_role("button", name="Turn keys off").wait_for()
    page.keyboard.press("a")
    until(page, lambda: Decision.objects.exists(), "the key did not approve")
    assert len(posts) == 1
