"""Audit pages in a browser: keys answer and turn the page, nothing chosen is lost, a phone will do."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from curation.models import Audit, AuditLabel
from curation.services import audits
from hits.models import Project
from tests.support.axe import check_sizes
from tests.support.curation.audits import NO, begun, pairs, yes
from tests.support.judging.work import Work
from tests.support.pages import until, wait_until_seen

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def audit(project: Project, admin: User, researcher: User) -> Audit:
    work = Work(project)
    pairs(work, 6)
    return begun(work, by=admin)


@pytest.fixture
def audit_url(audit: Audit) -> str:
    return f"/projects/{audit.project.slug}/curation/audits/{audit.pk}/"


def stored_answers() -> list[dict[str, Any]]:
    return list(AuditLabel.objects.order_by("pk").values_list("answers", flat=True))


def heading(page: Any, text: str) -> None:
    page.get_by_role("heading", level=1, name=text).wait_for()


def ready(page: Any, text: str) -> None:
    """Wait for a pair's page and its script: an earlier key has no effect."""
    heading(page, text)
    page.locator(".question--now").wait_for()
    wait_until_seen(page)


def test_a_pair_takes_a_few_keys(
    open_page: Callable[..., Any], sign_in: Callable[[Any, str], None], audit: Audit, audit_url: str
) -> None:
    page = open_page()
    sign_in(page, "rosa")
    page.goto(f"{audit_url}read/")
    ready(page, "Pair 1 of 6")
    which = page.get_by_role("group", name="What about them?")
    assert which.is_hidden()
    page.keyboard.press("1")
    which.wait_for()
    page.keyboard.press("2")
    page.keyboard.press("3")  # "none of these" takes the other away
    assert which.locator(":checked").evaluate_all("all => all.map((one) => one.value)") == ["none"]
    page.keyboard.press("1")
    page.keyboard.press("n")
    page.keyboard.type("12 years, at most")  # digits are letters here
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    ready(page, "Pair 2 of 6")
    page.keyboard.press("2")
    page.keyboard.press("Enter")  # on the button that saves
    ready(page, "Pair 3 of 6")
    assert stored_answers() == [{"person": "yes", "which": ["age"]}, {"person": "no"}]
    assert AuditLabel.objects.first().note == "12 years, at most"  # type: ignore[union-attr]

    page.keyboard.press("k")
    ready(page, "Pair 2 of 6")
    page.get_by_role("radio", name="No", exact=True).wait_for()
    assert page.get_by_role("radio", name="No", exact=True).is_checked()
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    ready(page, "Pair 3 of 6")
    assert stored_answers()[2:] == [{"person": "yes", "which": ["work"]}]
    page.keyboard.press("Enter")
    page.get_by_text("Choose one.").wait_for()
    ready(page, "Pair 3 of 6")


def test_what_is_not_saved_is_there_after_a_reload_and_gone_once_saved(
    open_page: Callable[..., Any], sign_in: Callable[[Any, str], None], audit: Audit, audit_url: str
) -> None:
    page = open_page()
    sign_in(page, "rosa")
    page.goto(f"{audit_url}read/1")
    ready(page, "Pair 1 of 6")
    page.keyboard.press("1")
    page.keyboard.press("2")
    page.fill("#note", "The apron")
    page.get_by_text("Not saved yet, kept on this device.").wait_for()
    page.reload()
    page.get_by_text("your earlier answers are restored").wait_for()
    assert page.locator(":checked").evaluate_all("all => all.map((one) => one.value)") == ["yes", "work"]
    assert page.input_value("#note") == "The apron"

    page.context.set_offline(True)
    page.get_by_role("button", name="Save and next").click()
    until(page, lambda: page.url.startswith("chrome-error"))
    page.context.set_offline(False)
    page.goto(f"{audit_url}read/1")
    page.get_by_text("your earlier answers are restored").wait_for()
    page.get_by_role("button", name="Save and next").click()
    ready(page, "Pair 2 of 6")
    kept = page.evaluate(
        "Object.keys(localStorage).filter((name) => name.startsWith('deerstalker-reading-'))"
    )
    assert kept == []
    assert stored_answers() == [{"person": "yes", "which": ["work"]}]


def test_a_phone_reads_by_touch(
    open_page: Callable[..., Any], sign_in: Callable[[Any, str], None], audit: Audit, audit_url: str
) -> None:
    page = open_page(390, 844, has_touch=True, is_mobile=True)
    sign_in(page, "rosa")
    for place in range(1, 7):
        if place == 1:
            page.goto(f"{audit_url}read/")
        ready(page, f"Pair {place} of 6")
        page.get_by_text("No", exact=True).tap()
        page.get_by_role("button", name="Save and next").tap()
    heading(page, "No pair is waiting for you")
    page.get_by_text("You labelled 6 of 6 pairs").wait_for()
    assert stored_answers() == [{"person": "no"}] * 6


def test_without_a_script_it_is_a_plain_form(
    open_page: Callable[..., Any], sign_in: Callable[[Any, str], None], audit: Audit, audit_url: str
) -> None:
    page = open_page(java_script_enabled=False)
    sign_in(page, "rosa")
    page.goto(f"{audit_url}read/")
    page.get_by_text(
        "Skip this question if your answer to an earlier question makes it unnecessary."
    ).wait_for()
    page.get_by_role("radio", name="Yes").check()
    page.get_by_role("button", name="Save and next").click()
    page.get_by_text("1 question to answer").wait_for()
    page.get_by_role("checkbox", name="Their work").check()
    page.get_by_role("button", name="Save and next").click()
    heading(page, "Pair 2 of 6")
    assert stored_answers() == [{"person": "yes", "which": ["work"]}]


def test_two_read_differ_settle_and_close(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    audit: Audit,
    audit_url: str,
    admin: User,
    researcher: User,
) -> None:
    for place in range(1, 7):
        audits.record_label(audit=audit, position=place, by=researcher, posted=NO)
        if place > 1:
            audits.record_label(audit=audit, position=place, by=admin, posted=NO)
    page = open_page()
    sign_in(page, "ada")
    page.goto(f"{audit_url}read/")
    ready(page, "Pair 1 of 6")
    page.keyboard.press("1")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    heading(page, "No pair is waiting for you")
    page.goto(audit_url)
    page.get_by_role("link", name="Settle pair 1").click()
    ready(page, "Settle pair 1")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    page.get_by_text("Pair 1 is settled.").wait_for()
    page.get_by_role("button", name="Close…").click()
    page.get_by_role("button", name="Close the audit").click()
    page.get_by_text("It accepts no more labels.").wait_for()
    audit.refresh_from_db()
    assert audit.state == "closed"
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename.endswith(f"audit-{audit.pk}.csv")


@pytest.mark.long
def test_pages_are_accessible_light_and_dark(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    audit: Audit,
    audit_url: str,
    admin: User,
    researcher: User,
) -> None:
    for place in (1, 2, 3):
        audits.record_label(audit=audit, position=place, by=admin, posted=NO)
        audits.record_label(
            audit=audit,
            position=place,
            by=researcher,
            posted=yes("age") if place == 1 else NO,
            note="A long note " * 20,
        )
    page = open_page()
    sign_in(page, "ada")
    sizes = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
    for address in (
        audit_url.rsplit("/", 2)[0] + "/",
        audit_url,
        f"{audit_url}read/4",
        f"{audit_url}settle/1",
    ):
        page.goto(address)
        for summary in page.locator("details:not([open]) > summary").all():
            summary.click()
        check_sizes(page, address, sizes)
