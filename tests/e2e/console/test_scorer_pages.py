"""Scorers in a browser: the list, the form and a training in every window, and plots that follow the training."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from curation.models import DatasetVersion, Scorer
from curation.services import versions as services
from hits.domain.states import JobState
from hits.models import Heartbeat, Job, Project
from hits.services.images.import_image import import_image
from tests.support.axe import check_page, check_sizes
from tests.support.box_editor import plain_photo
from tests.support.curation.scorer_rows import asked, ready, write_journal
from tests.support.judging.work import Work

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenPage = Callable[..., Any]
SIZES = [(390, "light"), (768, "dark"), (1280, "light"), (1920, "dark")]


@pytest.fixture
def sealed(site: str, project: Project) -> DatasetVersion:
    """Return a sealed version of twelve pairs on four photographs; a worker process is heard of."""
    Heartbeat.objects.create(name="worker", at=timezone.now() + timezone.timedelta(hours=1))
    work = Work(project)
    for number in range(4):
        data = plain_photo(320 + number, 240)
        work.observed(
            import_image(project=project, name=f"shore-{number}.jpg", data=data)[0], worker=f"W{number}"
        )
    return services.create_sealed_version(project=project, name="v1.0", by=None)


def test_the_list_and_the_form_in_every_window(
    sealed: DatasetVersion, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    address = reverse("scorers", args=[sealed.project.slug])
    page.goto(address)
    check_page(page, "no scorer yet")
    ready(sealed, "the first one")
    ready(sealed, "a scorer with the longest name that anybody would ever type")
    page.goto(address)
    check_sizes(page, "the list", SIZES)
    page.get_by_role("link", name="Train a scorer").click()
    page.get_by_text("Advanced settings").click()
    check_sizes(page, "the form", SIZES)
    page.get_by_label("Start from").select_option("tiny")
    page.get_by_label("Batch size").fill("600")
    page.get_by_role("button", name="Train").click()
    expect(page.locator("#train_batch_size_error")).to_contain_text(
        "600 is more than the 11 pairs to train on"
    )
    check_page(page, "a batch that is too large")
    page.get_by_label("Batch size").fill("4")
    page.get_by_role("button", name="Train").click()
    expect(page.get_by_text("No step yet")).to_be_visible()
    assert Scorer.objects.filter(config__batch_size=4, config__model="tiny", name="v1.0 1").exists()
    check_page(page, "a training that waits")


def test_the_plots_follow_a_training_without_loading_the_page_again(
    sealed: DatasetVersion, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    scorer = asked(sealed)
    held = {"lease_owner": "somebody", "lease_until": timezone.now() + timezone.timedelta(hours=1)}
    running = Job.objects.filter(pk=scorer.job_id)
    running.update(state=JobState.RUNNING, started_at=timezone.now(), done=20, total=120, **held)
    write_journal(scorer, 20)
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("scorer", args=[sealed.project.slug, scorer.pk]))
    expect(page.locator(".losses figure.chart-box")).to_have_count(3)
    check_sizes(page, "while it trains", SIZES)
    page.evaluate("window.isTheSamePage = true")
    write_journal(scorer, 60)
    running.update(done=60)
    expect(page.locator(".losses")).to_contain_text("60 steps")
    expect(page.locator("[data-job-count]")).to_contain_text("60 of 120")
    assert page.evaluate("window.isTheSamePage")
    write_journal(scorer, 120)
    running.update(state=JobState.DONE, done=120, finished_at=timezone.now())
    expect(page.locator("[data-job-url]")).to_have_count(0)
    expect(page.locator(".losses")).to_contain_text("120 steps")


def test_nobody_is_asked_while_the_page_is_hidden(
    sealed: DatasetVersion, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    scorer = asked(sealed)
    page = open_page()
    sign_in(page, researcher.username)
    asked_for: list[str] = []
    page.on("request", lambda request: asked_for.append(request.url) if "losses" in request.url else None)
    page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => window.isHidden ?? true })")
    page.clock.install()
    page.goto(reverse("scorer", args=[sealed.project.slug, scorer.pk]))
    before = page.evaluate("Date.now()")
    page.clock.run_for(60_000)
    with page.expect_response("**/healthz"):
        page.evaluate("fetch('/healthz')")  # what was asked before would be on its way before this
    assert asked_for == []
    with page.expect_request("**/losses") as found:
        page.evaluate("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")
    assert found.value.url.endswith("/losses")
    assert page.evaluate("Date.now()") - before >= 3000


def test_a_ready_scorer_leads_to_the_next_round(
    sealed: DatasetVersion, open_page: OpenPage, sign_in: Any, researcher: User
) -> None:
    scorer = ready(sealed, "ours")
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("scorer", args=[sealed.project.slug, scorer.pk]))
    page.get_by_text("Validations", exact=True).click()
    check_sizes(page, "a ready scorer", SIZES)
    page.get_by_role("link", name="Choose candidates with it…").click()
    expect(page.get_by_label("Encoder")).to_have_value(scorer.encoder_name)
    expect(page.locator("#build .note-bar")).to_contain_text(
        "ours was trained or validated on all 12 approved pairs"
    )
    check_sizes(page, "the round's form", SIZES)
