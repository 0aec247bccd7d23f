"""The gold pages and a worker's evidence in a browser: keyboard, accessibility, and layout."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from hits.models import Hit, Project, Worker
from hits.services.launching.terms import LaunchTerms
from tests.support.axe import check_page, check_sizes, check_width
from tests.support.judging.work import Work, review
from validation.domain.judging.quality_check_types import CheckRates
from validation.models import GoldItem
from validation.services.judging import RoundPlan, launch_review
from validation.services.quality_checks import add_gold_item
from validation.services.report import compute_report

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
REVIEW = "observation_review"
CHECKED = ((390, "light"), (390, "dark"), (1280, "light"), (1280, "dark"))
FITTED = (768, 1920)


@pytest.fixture
def judged(site: str, project: Project) -> Work:
    """Return work with three pairs that two workers judged alike."""
    work = Work(project)
    rows = work.observed(work.image(1), worker="AUTHOR")
    batch, _ = launch_review(project=project, observations=rows, by=None)
    work.publish(batch)
    for hit in Hit.objects.filter(unit__batch=batch):
        for judge in ("J1", "J2"):
            work.answered(hit, judge, review("un", "mostly", "very"))
    return work


def with_evidence(work: Work) -> Worker:
    """Return a worker who failed the quality checks and repeated one answer, in a computed report."""
    unit = work.project.batches.get(kind=REVIEW).units.order_by("pk")[0]
    add_gold_item(unit=unit, expected={"reasonable": ["un"]}, by=None)
    rows = [row for n in range(8) for row in work.observed(work.image(10 + n), worker=f"B{n}")]
    batch, _ = launch_review(
        project=work.project,
        observations=rows,
        by=None,
        terms=LaunchTerms(redundancy=4, reward_cents=5),
        plan=RoundPlan(rates=CheckRates(gold=8, attention=10, repeat=10)),
    )
    work.publish(batch)
    words = ["highly", "relatively", "un"]
    for n, hit in enumerate(Hit.objects.filter(unit__batch=batch)):
        work.answered(hit, "FAST", review())
        for k in range(3):
            fit = ["mostly", "entirely_off"][n % 2]
            work.answered(hit, f"S{k}", review(words[(n + k) % 3], fit, "interesting"))
    compute_report(project=work.project, kind=REVIEW)
    return Worker.objects.get(worker_id="FAST")


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(120):
        if page.locator(f"{selector}:focus").count():
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached with the keyboard")


def test_judged_unit_becomes_gold_item_by_keyboard(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    researcher: User,
    judged: Work,
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("gold", args=[project.slug]))
    check_page(page, "empty gold list")
    tab_to(page, "main a[href*='gold/choose']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/gold/choose**")
    check_page(page, "judged items")
    tab_to(page, "main a[href*='gold/new']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/gold/new**")
    check_page(page, "expected answers")
    tab_to(page, "input[name=right-interesting][value=very]")
    page.keyboard.press("Space")
    tab_to(page, "main form .btn--primary")
    page.keyboard.press("Enter")
    page.get_by_text("In use").first.wait_for()
    assert GoldItem.objects.get().expected == {
        "boxes": ["mostly"],
        "reasonable": ["un"],
        "interesting": ["very"],
    }


@pytest.mark.long
def test_gold_and_evidence_are_accessible_at_every_width(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    researcher: User,
    judged: Work,
) -> None:
    worker = with_evidence(judged)
    gold = GoldItem.objects.get()
    unit = project.batches.filter(kind=REVIEW).earliest("pk").units.latest("pk")
    page = open_page()
    sign_in(page, researcher.username)
    gold_list = reverse("gold", args=[project.slug])
    addresses = {
        "gold list": gold_list,
        "retired gold": f"{gold_list}?show=retired",
        "judged items": reverse("gold-choose", args=[project.slug]),
        "new gold": f"{reverse('gold-new', args=[project.slug])}?kind={REVIEW}&unit={unit.pk}",
        "a gold item": reverse("gold-edit", args=[project.slug, gold.pk]),
        "the worker": reverse("worker-detail", args=[project.slug, worker.pk]),
    }
    for state, address in addresses.items():
        page.goto(address)
        for width in FITTED:
            page.set_viewport_size({"width": width, "height": 900})
            check_width(page, f"{state} at {width}")
        check_sizes(page, state, CHECKED)
    evidence = " ".join(page.locator("section[aria-labelledby=evidence]").inner_text().split())
    for name in ("Gold items", "Attention checks", "Repeats", "Variety"):
        assert name in evidence
    page.get_by_text("Related submissions").first.click()
    check_page(page, "links to submissions")
    page.locator("section[aria-labelledby=evidence] a[href*='/submissions/']").first.click()
    page.wait_for_url("**/submissions/*/")
