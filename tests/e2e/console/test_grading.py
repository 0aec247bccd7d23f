"""The grading page in a browser: keys show the next pair, grades are sent in batches, and none is lost."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from hits.models import Image, Project, Submission
from tests.support.axe import check_sizes
from tests.support.judging.applicants import bulk_applicants, grade, qualification
from tests.support.pages import until, wait_until_seen
from validation.domain.qualification.outcome import PassRule
from validation.models import Grade, QualificationRound

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# Whether the server has every grade that was given on this device.
NOTHING_WAITS = "!Object.keys(localStorage).some((name) => name.startsWith('deerstalker:grades:'))"


@pytest.fixture
def found(project: Project, make_image: Callable[..., Image]) -> QualificationRound:
    images = [make_image(n, width=320, height=240) for n in range(3)]
    return qualification(project, images, 9, rule=PassRule(graders=2))


@pytest.fixture
def grading_url(found: QualificationRound, project: Project) -> str:
    return f"/projects/{project.slug}/applicants/{found.pk}/grading"


def position(page: Any) -> str:
    return str(page.locator("[data-position]").inner_text())


def latest_grades(submission: Submission, grader: User) -> list[bool | None]:
    """Return the grader's latest grade of each pair, in order; pairs without grades are left out."""
    rows = Grade.objects.filter(submission=submission, grader=grader).order_by("pk")
    return [grade for _, grade in sorted(dict(rows.values_list("item", "reasonable")).items())]


def test_keys_grade_with_fewer_requests_than_grades(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    found: Any,
    grading_url: str,
    researcher: User,
) -> None:
    bulk_applicants(found, 3)
    page = open_page()
    sign_in(page, "rosa")
    page.goto(grading_url)
    wait_until_seen(page)
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    assert position(page) == "Pair 1 of 27 waiting"
    for key in "111212111":
        page.keyboard.press(key)
    assert position(page) == "Pair 10 of 27 waiting"
    assert "pair 1" in page.locator("[data-text=where]").inner_text()
    first = Submission.objects.order_by("received_at", "attempt").first()
    assert first is not None
    until(page, lambda: len(latest_grades(first, researcher)) == 9)
    assert latest_grades(first, researcher) == [True, True, True, False, True, False, True, True, True]
    assert len(posts) < 9
    page.keyboard.press("k")
    assert position(page) == "Pair 9 of 27 waiting"
    assert (
        page.get_by_role("button", name="Reasonable", exact=False).first.get_attribute("aria-pressed")
        == "true"
    )
    page.keyboard.press("j")
    assert position(page) == "Pair 10 of 27 waiting"


def test_enter_saves_a_note_and_a_grade_can_be_withdrawn(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    found: Any,
    grading_url: str,
    researcher: User,
) -> None:
    bulk_applicants(found, 1)
    submission = Submission.objects.get()
    page = open_page()
    sign_in(page, "rosa")
    page.goto(grading_url)
    wait_until_seen(page)
    page.keyboard.press("n")
    page.keyboard.type("12 words say nothing")  # digits are text in the note
    page.keyboard.press("Enter")
    assert position(page) == "Pair 2 of 9 waiting"
    first, second = submission.answer["images"][0]["pairs"][:2]
    assert first["clue"] != second["clue"]
    assert page.locator("[data-text^=text-]").all_inner_texts() == [second["clue"], second["inference"]]
    until(page, lambda: latest_grades(submission, researcher) == [False])
    assert Grade.objects.get().note == "12 words say nothing"
    page.keyboard.press("z")
    assert position(page) == "Pair 1 of 9 waiting"
    until(page, lambda: latest_grades(submission, researcher) == [None])
    page.keyboard.press("1")
    page.keyboard.press("1")
    page.keyboard.press("z")  # not sent yet, so it is never sent
    until(page, lambda: page.evaluate(NOTHING_WAITS))
    assert latest_grades(submission, researcher) == [True]
    page.reload()
    assert position(page) == "Pair 1 of 8 waiting"


def test_offline_grades_are_stored_and_sent_later(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    found: Any,
    grading_url: str,
    researcher: User,
) -> None:
    bulk_applicants(found, 1)
    submission = Submission.objects.get()
    page = open_page()
    sign_in(page, "rosa")
    page.goto(grading_url)
    wait_until_seen(page)
    page.context.set_offline(True)
    for key in "11111":
        page.keyboard.press(key)
    page.get_by_text("Not saved yet, stored on this device: 5 grades").wait_for()
    page.context.set_offline(False)
    page.goto(grading_url)
    until(page, lambda: latest_grades(submission, researcher) == [True] * 5)


def test_grading_without_script_uses_forms(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    found: Any,
    grading_url: str,
    researcher: User,
) -> None:
    bulk_applicants(found, 1)
    page = open_page(java_script_enabled=False)
    sign_in(page, "rosa")
    page.goto(grading_url)
    page.get_by_role("button", name="Reasonable").first.click()
    page.get_by_text("Pair 1 of 8 waiting").wait_for()
    page.fill("#note", "Nothing shows it.")
    page.keyboard.press("Enter")
    page.get_by_text("Pair 1 of 7 waiting").wait_for()
    assert list(Grade.objects.values_list("item", "reasonable", "note")) == [
        (0, True, ""),
        (1, False, "Nothing shows it."),
    ]
    page.get_by_role("link", name="Back to the last pair").click()
    page.get_by_role("button", name="Take my grade back").click()
    page.get_by_text("Pair 1 of 8 waiting").wait_for()
    assert latest_grades(Submission.objects.get(), researcher) == [True, None]


def test_two_graders_grade_all_pairs_at_the_same_time(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    found: Any,
    grading_url: str,
    researcher: User,
    admin: User,
) -> None:
    bulk_applicants(found, 1)
    submission = Submission.objects.get()
    pages = []
    for name in ("rosa", "ada"):
        page = open_page()
        sign_in(page, name)
        page.goto(grading_url)
        wait_until_seen(page)
        pages.append(page)
    for n in range(9):
        for page in pages:
            page.keyboard.press("2" if n == 8 else "1")
    for page, person in zip(pages, (researcher, admin), strict=True):
        page.get_by_text("All pairs are graded").wait_for()
        until(page, lambda person=person: latest_grades(submission, person) == [True] * 8 + [False])
    assert Grade.objects.count() == 18


@pytest.mark.long
def test_pages_are_accessible(
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    found: Any,
    grading_url: str,
    project: Project,
    researcher: User,
    admin: User,
) -> None:
    bulk_applicants(found, 3, graders=[admin])
    grade(found, Submission.objects.order_by("pk")[0], researcher, reasonable=7, note="Too vague.")
    page = open_page()
    sign_in(page, "ada")
    base = f"/projects/{project.slug}/applicants/"
    for address in (
        base,
        f"{base}{found.pk}/",
        f"{base}qualify",
        f"{base}train",
        f"{grading_url}?at={Submission.objects.order_by('pk')[0].pk}:8",
    ):
        page.goto(address)
        check_sizes(page, address, [(1280, "light"), (390, "light")])
