"""Texts with mentions are edited as any text: undo, paste, input methods, chips; at a desk and on a phone."""

from collections.abc import Callable
from typing import Any

import pytest

from hits.models import Hit, Project
from tests.support.axe import ALL_SIZES
from tests.support.mentions import QuestionPage, question_hit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WIDE = pytest.param({"width": 1280, "height": 900}, id="1280")
PHONE = pytest.param({"width": 390, "height": 844, "has_touch": True, "is_mobile": True}, id="390")


def window(first: Any) -> pytest.MarkDecorator:
    """Run a test in one window; in both where all sizes are asked for."""
    return pytest.mark.parametrize("task", [WIDE, PHONE] if ALL_SIZES else [first], indirect=True)


@pytest.fixture
def hit(site: str, project: Project) -> Hit:
    """Return a live question HIT."""
    return question_hit(project)


@pytest.fixture
def task(hit: Hit, open_page: Callable[..., Any], request: pytest.FixtureRequest) -> QuestionPage:
    """Return the question task with the caret in its question."""
    task = QuestionPage.opened(hit, open_page, **request.param)
    task.field("question").click()
    return task


def _paste(task: QuestionPage, name: str, **kinds: str) -> None:
    """Paste into a field what another program has put on the clipboard, in several formats at once."""
    task.field(name).evaluate(
        """(field, kinds) => {
            const data = new DataTransfer();
            for (const [type, text] of Object.entries(kinds)) data.setData(`text/${type}`, text);
            const options = { clipboardData: data, bubbles: true, cancelable: true };
            field.dispatchEvent(new ClipboardEvent('paste', options));
        }""",
        kinds,
    )


def _copied(task: QuestionPage, name: str) -> str:
    """Return what copying the whole field puts on the clipboard."""
    text: str = task.field(name).evaluate(
        """(field) => {
            getSelection().selectAllChildren(field);
            const data = new DataTransfer();
            field.dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true }));
            return data.getData('text/plain');
        }"""
    )
    return text


def _press(task: QuestionPage, key: str, times: int = 1) -> None:
    for _ in range(times):
        task.page.keyboard.press(key)


@window(PHONE)
def test_undo_leads_to_the_empty_text_and_redo_back(task: QuestionPage) -> None:
    task.page.keyboard.type("Why does 1 and 3 wait, [d")
    _press(task, "Enter")
    task.page.keyboard.type("?")
    whole = task.text("question")
    assert whole == "Why does person 1 and dog 3 wait, dog 3?"
    assert task.chips("question") == ["person 1 and dog 3", "dog 3"]
    for _ in range(60):
        if not task.text("question"):
            break
        _press(task, "Control+z")
    assert task.text("question") == ""
    assert task.chips("question") == []
    for _ in range(60):
        if task.text("question") == whole:
            break
        _press(task, "Control+Shift+z")
    assert task.text("question") == whole
    assert task.chips("question") == ["person 1 and dog 3", "dog 3"]


@window(WIDE)
def test_pasted_html_is_plain_text_and_copied_mentions_are_mentions(task: QuestionPage) -> None:
    task.page.keyboard.type("Why ")
    _paste(task, "question", html="<b>bold</b><img src=x><br>and 3", plain="bold\nand 3")
    assert task.text("question") == "Why bold and 3"
    assert task.field("question").locator("*").count() == 0, (
        "no element came along, and no number became a tag"
    )
    _press(task, "Control+a")
    task.page.keyboard.type("Why does 1 and 2 look at 4?")
    copied = _copied(task, "question")
    assert copied == "Why does [person 1 and person 2] look at [dining table 4]?"
    _paste(task, "answer", plain=copied)
    assert task.chips("answer") == ["person 1 and person 2", "dining table 4"]
    assert task.text("answer") == task.text("question")


@window(PHONE)
def test_escape_keeps_a_number_as_text(task: QuestionPage) -> None:
    task.page.keyboard.type("Why is it 3")
    task.page.locator("#suggestions [role=option]").wait_for()
    _press(task, "Escape")
    assert task.page.locator("#suggestions").is_hidden()
    task.page.keyboard.type(" o'clock for 1?")
    assert task.text("question") == "Why is it 3 o'clock for person 1?"
    assert task.chips("question") == ["person 1"]
    task.wait_saved()
    task.page.reload()
    task.ready()
    assert task.text("question") == "Why is it 3 o'clock for person 1?"
    assert task.chips("question") == ["person 1"]


@window(WIDE)
def test_space_and_punctuation_accept_a_number(task: QuestionPage) -> None:
    for mark in (" ", ",", ".", "?", "'s ", ")"):
        task.page.keyboard.type(f"Is it (3{mark}")
        assert task.chips("question") == ["dog 3"]
        assert task.text("question") == f"Is it (dog 3{mark}"
        _press(task, "Control+a")
        _press(task, "Delete")


@window(WIDE)
def test_input_method_loses_nothing(task: QuestionPage) -> None:
    task.page.keyboard.type("Does 1")
    session = task.page.context.new_cdp_session(task.page)
    _press(task, "Tab")
    for text in ("に", "にほ", "にほん"):
        session.send(
            "Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)}
        )
    assert task.text("question") == "Does person 1にほん"
    session.send("Input.insertText", {"text": "日本"})
    assert task.text("question") == "Does person 1 日本"
    session.send("Input.imeSetComposition", {"text": "ご", "selectionStart": 1, "selectionEnd": 1})
    session.send("Input.imeSetComposition", {"text": "", "selectionStart": 0, "selectionEnd": 0})
    assert task.text("question") == "Does person 1 日本", "a cancelled word leaves nothing"
    task.page.keyboard.type(" 3?")
    assert task.text("question") == "Does person 1 日本 dog 3?"
    for _ in range(30):
        _press(task, "Control+z")
    assert task.text("question") == ""


@window(PHONE)
def test_composed_number_is_accepted_when_it_is_finished(task: QuestionPage) -> None:
    """Keyboards of phones compose what they type, numbers too."""
    session = task.page.context.new_cdp_session(task.page)
    task.page.keyboard.type("Why does ")
    session.send("Input.imeSetComposition", {"text": "3", "selectionStart": 1, "selectionEnd": 1})
    session.send("Input.insertText", {"text": "3"})
    task.page.locator("#suggestions [role=option]").wait_for()
    session.send("Input.insertText", {"text": " "})
    assert task.chips("question") == ["dog 3"]
    assert task.text("question") == "Why does dog 3 "


@window(WIDE)
def test_chips_are_walked_over_and_deleted_in_two_steps_or_pressed(task: QuestionPage) -> None:
    task.page.keyboard.type("ab 1 cd")
    _press(task, "ArrowLeft", 3)
    selected = task.field("question").locator(".mention--on")
    assert selected.count() == 0
    _press(task, "ArrowLeft")
    assert selected.count() == 1
    assert task.page.locator(".object--on[data-object='0']").count() == 1, "its box is lit"
    _press(task, "ArrowLeft")
    assert selected.count() == 0
    task.page.keyboard.type("X")
    assert task.text("question") == "ab Xperson 1 cd"
    _press(task, "Backspace")
    _press(task, "Delete")
    assert selected.count() == 1
    assert task.chips("question") == ["person 1"]
    _press(task, "Delete")
    assert task.text("question") == "ab  cd"
    _press(task, "Control+z")
    assert task.chips("question") == ["person 1"]
    _press(task, "Control+a")
    task.page.keyboard.type("Why does 1 look at 3?")
    task.field("question").locator(".mention").first.click()
    assert task.field("question").locator(".mention--on").get_attribute("aria-label") == "person 1"
    _press(task, "Backspace")
    assert task.text("question") == "Why does  look at dog 3?"


@window(WIDE)
def test_pressing_one_place_again_picks_the_object_below(task: QuestionPage) -> None:
    task.page.keyboard.type("Why is ")
    place = task.at(5, y=0.5)  # the cup stands before the table
    names = []
    for _ in range(3):
        task.page.mouse.click(*place)
        names.append(task.chips("question"))
    assert names == [["cup 5"], ["dining table 4"], ["cup 5"]]
    task.page.keyboard.type("and ")
    task.page.mouse.click(*task.at(5, y=0.5))  # the page may have scrolled
    assert task.chips("question") == ["cup 5"], (
        "after other work, a press begins anew, and one object is not doubled"
    )
    assert task.text("question") == "Why is cup 5"


@pytest.mark.parametrize("task", [PHONE], indirect=True)
def test_two_fingers_zoom_the_photo_and_mention_nothing(task: QuestionPage) -> None:
    session = task.page.context.new_cdp_session(task.page)
    (x, y), before = task.at(3), task.page.locator("#zoom").text_content()

    def touch(kind: str, *apart: int) -> None:
        points = [{"x": x + distance, "y": y, "id": n} for n, distance in enumerate(apart)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", -20)
    touch("touchStart", -20, 20)
    for step in (30, 45, 60):
        touch("touchMove", -step, step)
    touch("touchEnd")
    assert int(str(task.page.locator("#zoom").text_content()).strip("%")) > 2 * int(str(before).strip("%"))
    assert task.text("question") == ""
    task.page.locator("[data-tool=fit]").tap()
    assert task.page.locator("#zoom").text_content() == before


@window(WIDE)
def test_box_chip_and_list_light_each_other(task: QuestionPage) -> None:
    task.page.keyboard.type("Why does 3 ")
    lit = task.page.locator(".object--on[data-object='2']")
    chip = task.field("question").locator(".mention--lit")
    task.page.locator("body").hover(position={"x": 2, "y": 2})
    assert (lit.count(), chip.count()) == (0, 0)
    task.page.mouse.move(*task.at(3))
    assert (lit.count(), chip.count()) == (1, 1)
    task.page.mouse.move(*task.at(2))
    assert (lit.count(), chip.count()) == (0, 0)
    task.field("question").locator(".mention").hover()
    assert lit.count() == 1
    task.page.locator("#objects [data-object='2']").hover()
    assert (lit.count(), chip.count()) == (1, 1)


@window(WIDE)
def test_screen_readers_get_one_textbox_with_its_text(task: QuestionPage) -> None:
    task.page.keyboard.type("Why does 1 and 3 wait?")
    session = task.page.context.new_cdp_session(task.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    boxes = {
        node["name"]["value"].split("  ")[0]: node.get("value", {}).get("value", "").replace("\u200b", "")
        for node in nodes
        if node.get("role", {}).get("value") == "textbox"
    }
    (text,) = [value for name, value in boxes.items() if name.startswith("Question")]
    assert text == "Why does person 1 and dog 3 wait?"
    assert len(boxes) == 3
    task.page.keyboard.type(" 2")
    assert task.page.locator("#say").inner_text() == (
        "Suggestion: person 2. Space accepts it, Escape keeps the number."
    )
    active = task.field("question").get_attribute("aria-activedescendant")
    assert task.page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    _press(task, "Escape")
    assert task.field("question").get_attribute("aria-activedescendant") is None
