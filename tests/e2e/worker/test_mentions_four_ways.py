"""A question with three mentions, written by each of the four ways: with mouse, fingers and keyboard alone."""

from collections.abc import Callable
from typing import Any

import pytest

from hits.domain.states import SubmissionMatch
from hits.models import Hit, Project, Record, Submission
from tests.support.loop import collected
from tests.support.mentions import SCENE_OBJECTS, SHA256, QuestionPage, question_hit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# What is written around the mention of each field, and the object that it mentions.
TEXTS = {
    "question": ("Why is ", 1, " shy?"),
    "answer": ("The ", 5, " fell."),
    "rationale": ("The ", 3, " saw all of it."),
}
Mention = Callable[[QuestionPage, int], None]


@pytest.fixture
def hit(site: str, project: Project) -> Hit:
    """Return a live question HIT."""
    return question_hit(project)


def by_number(task: QuestionPage, number: int) -> None:
    task.page.keyboard.type(str(number))
    task.page.locator("#suggestions [role=option]").wait_for()


def from_the_list(task: QuestionPage, number: int) -> None:
    task.page.keyboard.type("[")
    task.page.locator("#suggestions [role=option]").nth(4).wait_for()
    for _ in range(number - 1):
        task.page.keyboard.press("ArrowDown")
    task.page.keyboard.press("Enter")


def by_class(task: QuestionPage, number: int) -> None:
    task.page.keyboard.type(f"@{ {1: 'person', 3: 'dog', 5: 'cu'}[number] }")
    task.page.keyboard.press("Tab")


def in_the_photo(task: QuestionPage, number: int) -> None:
    task.page.mouse.click(*task.at(number))


def in_the_strip(task: QuestionPage, number: int) -> None:
    task.page.locator(f"#objects [data-object='{number - 1}']").click()


def tapped_in_the_photo(task: QuestionPage, number: int) -> None:
    task.page.touchscreen.tap(*task.at(number))


def tapped_in_the_strip(task: QuestionPage, number: int) -> None:
    task.page.locator(f"#objects [data-object='{number - 1}']").tap()


def strip_by_keyboard(task: QuestionPage, number: int) -> None:
    """Leave the field for the list of objects, choose there, and come back by choosing."""
    for _ in range(60):
        if task.page.locator("#objects button:focus").count():
            break
        task.page.keyboard.press("Shift+Tab")
    task.page.keyboard.press("Home")
    for _ in range(number - 1):
        task.page.keyboard.press("ArrowRight")
    task.page.keyboard.press("Enter")


def _tab_to(task: QuestionPage, selector: str, key: str = "Tab") -> None:
    for _ in range(60):
        if task.page.locator(f"{selector}:focus").count():
            return
        task.page.keyboard.press(key)
    raise AssertionError(f"{selector} is out of the keyboard's reach")


def _check_stored(hit: Hit) -> None:
    (assignment,) = collected(hit.unit.batch)
    assert assignment.match == SubmissionMatch.MATCHED
    answer = Submission.objects.get().answer
    (triplet,) = answer["triplets"]
    for name, (before, number, after) in TEXTS.items():
        assert triplet[name] == [before, {"objects": [number - 1]}, after]
    assert (triplet["likelihood"], answer["interest"], answer["objects_sha256"]) == ("likely", 1, SHA256)
    kinds = {row.type: row.fields for row in Record.objects.all()}
    assert kinds["triplet"]["question"] == triplet["question"]
    assert kinds["interest"] == {"verdict": 1, "objects_sha256": SHA256}


def _write(task: QuestionPage, enter: Callable[[str], None], mention: Mention) -> None:
    for name, (before, number, after) in TEXTS.items():
        enter(name)
        task.page.keyboard.type(before)
        mention(task, number)
        assert task.field(name).evaluate("field => field === document.activeElement"), "a keyboard stays open"
        task.page.keyboard.type(after)
        label = f"{SCENE_OBJECTS[number - 1][0]} {number}"
        assert (task.text(name), task.chips(name)) == (f"{before}{label}{after}", [label])


def _clear(task: QuestionPage) -> None:
    for name in TEXTS:
        task.field(name).focus()
        task.page.keyboard.press("Control+a")
        task.page.keyboard.press("Delete")
        assert task.text(name) == ""


def test_question_is_written_with_a_mouse_in_each_way(hit: Hit, open_page: Callable[..., Any]) -> None:
    task = QuestionPage.opened(hit, open_page, width=1280, height=900)
    for mention in (by_number, from_the_list, by_class, in_the_strip, in_the_photo):
        _clear(task)
        _write(task, lambda name: task.field(name).click(), mention)
    task.choose()
    task.interest()
    assert task.gaps() == []
    task.page.locator("#submit").click()
    task.page.wait_for_url(lambda url: "/hit/" not in url)
    _check_stored(hit)


def test_question_is_written_with_fingers_in_each_way(hit: Hit, open_page: Callable[..., Any]) -> None:
    task = QuestionPage.opened(hit, open_page, width=390, height=844, has_touch=True, is_mobile=True)
    for mention in (by_number, from_the_list, tapped_in_the_photo, tapped_in_the_strip):
        _clear(task)
        _write(task, lambda name: task.field(name).tap(), mention)
    for selector in (
        "label:has([name=likelihood-1][value=likely])",
        "label:has([name=interest][value='1'])",
    ):
        task.page.locator(selector).tap()
    assert task.gaps() == []
    task.page.locator("#submit").tap()
    task.page.wait_for_url(lambda url: "/hit/" not in url)
    _check_stored(hit)


def test_question_is_written_with_the_keyboard_alone(hit: Hit, open_page: Callable[..., Any]) -> None:
    task = QuestionPage.opened(hit, open_page, width=1280, height=900)
    for mention in (by_number, from_the_list, strip_by_keyboard):
        _clear(task)
        _tab_to(task, "#submit")
        _write(
            task,
            lambda name: _tab_to(task, f"#{name}-1", "Shift+Tab" if name == "question" else "Tab"),
            mention,
        )
    task.page.keyboard.press("Enter")  # from the last text to the choice below it
    assert task.page.locator("#likelihood-1:focus").count() == 1
    task.page.keyboard.press("Space")
    _tab_to(task, "#interest-0")
    task.page.keyboard.press("ArrowLeft")  # around to the last one
    _tab_to(task, "#submit")
    assert task.gaps() == []
    task.page.keyboard.press("Enter")
    task.page.wait_for_url(lambda url: "/hit/" not in url)
    _check_stored(hit)
