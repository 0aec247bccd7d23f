"""The report in a browser: computing it, its links down to a submission, and its files."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from hits.models import Image, Project
from tests.support.axe import check_page, check_width
from tests.support.judging.many_judgments import Crowd, fill
from validation.services.rater_rows import write_rater_rows
from validation.services.report import compute_report

pytestmark = pytest.mark.browser
REVIEW, LIKERT = "observation_review", "likert_comparison"
WIDTHS = (390, 768, 1280, 1920)


@pytest.fixture
def judged(site: str, project: Project, make_image: Callable[..., Image]) -> Crowd:
    """Return a crowd that judged forty pairs."""
    crowd = Crowd(items=40, workers=8)
    fill(project, [make_image(n, width=320, height=240) for n in range(3)], crowd)
    return crowd


def test_report_is_computed_and_links_to_a_submission(
    worker_process: None,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    researcher: User,
    judged: Crowd,
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("judging-report", args=[project.slug]))
    page.get_by_text("120 judgments of this kind arrived").wait_for()
    page.get_by_role("button", name="Compute the report now").click()
    page.get_by_text("observation pairs are acceptable").wait_for(timeout=180_000)
    assert "from 120 judgments" in page.inner_text(".page-head")
    page.get_by_role("img", name="Acceptable:").wait_for()
    page.locator(".heat a").first.click()
    page.get_by_role("heading", name="Judged item").wait_for()
    expect(page.locator("tbody tr")).to_have_count(3)
    page.locator("td[data-label=Submission] a").first.click()
    page.wait_for_url("**/submissions/*/")


def test_files_are_created_and_downloaded(
    worker_process: None,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    researcher: User,
    judged: Crowd,
) -> None:
    page = open_page()
    sign_in(page, researcher.username)
    page.goto(reverse("judging-report", args=[project.slug]))
    page.get_by_role("button", name="Create the files").click()
    link = page.get_by_role("link", name="Download CSV")
    link.wait_for(timeout=180_000)
    expect(page.locator("#files")).to_contain_text("360 rows of 120 judgments")
    with page.expect_download() as found:
        link.click()
    lines = found.value.path().read_text("utf-8").splitlines()
    assert len(lines) == 361
    assert not any(worker.worker_id in line for worker in judged.people for line in lines)


@pytest.mark.long
def test_report_pages_are_accessible_at_every_width(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    researcher: User,
    judged: Crowd,
    make_image: Callable[..., Image],
) -> None:
    sets = Crowd(items=6, redundancy=2, workers=3, seed=2, kind=LIKERT)
    fill(project, [make_image(9, width=320, height=240)], sets)
    key = f"{judged.seed:04x}{3:028x}"
    set_key = f"{sets.seed:04x}{3:028x}"
    page = open_page()
    sign_in(page, researcher.username)
    report = reverse("judging-report", args=[project.slug])
    page.goto(report)
    check_page(page, "before the first report")
    for kind in (REVIEW, LIKERT):
        compute_report(project=project, kind=kind)
    write_rater_rows(project=project, kind=REVIEW)
    addresses = {
        "report": report,
        "report on sets": f"{report}?kind={LIKERT}",
        "report on nothing": f"{report}?kind=localization_match",
        "item": reverse("judging-item", args=[project.slug, REVIEW, key]),
        "set": reverse("judging-item", args=[project.slug, LIKERT, set_key]),
    }
    for state, address in addresses.items():
        page.goto(address)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            check_width(page, f"{state} at {width}")
            if width in {390, 1280}:
                check_page(page, f"{state} at {width}")


@pytest.mark.long
def test_report_in_dark_scheme_has_enough_contrast(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    project: Project,
    researcher: User,
    judged: Crowd,
) -> None:
    compute_report(project=project, kind=REVIEW)
    page = open_page(color_scheme="dark")
    sign_in(page, researcher.username)
    page.goto(reverse("judging-report", args=[project.slug]))
    check_page(page, "report in dark scheme")
