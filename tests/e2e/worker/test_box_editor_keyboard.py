"""The whole task without a pointer, told to a screen reader; keys that can be turned off; no focus lost."""

import re
from collections.abc import Callable

import pytest

from hits.domain.states import SubmissionMatch
from hits.models import Batch, Submission
from tests.support.box_editor import Task, rows_of
from tests.support.loop import collected

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenTask = Callable[..., Task]


def _focused(task: Task) -> str:
    return str(task.page.evaluate("document.activeElement?.id || document.activeElement?.tagName"))


def _tab_to(task: Task, target: str, *, back: bool = False) -> None:
    """Press Tab until the element with that id has focus; it has to come within reason."""
    for _ in range(60):
        if _focused(task) == target:
            return
        assert _focused(task) != "BODY" or target, "focus fell off the page"
        task.page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"Tab never came to {target}")


def test_a_whole_task_by_keys_alone(open_task: OpenTask) -> None:
    task = open_task((640, 480), folded=False)
    keys = task.page.keyboard
    _tab_to(task, "photo")
    keys.press("Enter")
    assert re.match(r"Box 1 added: \d+ by \d+ pixels", task.announcement())
    left, top, width, height = task.boxes()[0]
    for key in ("ArrowRight", "ArrowDown", "Shift+ArrowLeft"):
        keys.press(key)
    assert task.boxes() == [(left - 9, top + 1, width, height)]
    assert task.announcement() == f"Box 1 at {left - 9}, {top + 1}."
    keys.press("Alt+ArrowRight"), keys.press("Alt+ArrowUp")
    keys.press("Alt+Shift+ArrowLeft"), keys.press("Alt+Shift+ArrowDown")
    assert task.boxes() == [(left - 10, top + 2, width + 2, height - 2)], "all four sides"
    assert "pixels" in task.announcement()
    keys.press("b")
    keys.press("n")
    assert "Box 1a selected" in task.announcement()
    keys.press("p")
    assert "Box 1b selected" in task.announcement()
    keys.press("Delete")
    assert (task.announcement(), len(task.boxes()), _focused(task)) == ("Box 1b deleted.", 1, "photo")
    keys.press("Control+z")
    assert (task.announcement(), len(task.boxes())) == ("Undone.", 2)
    keys.press("Control+Shift+z")
    assert (task.announcement(), len(task.boxes())) == ("Redone.", 1)
    keys.press("+")
    assert task.announcement().endswith("percent.")
    keys.press("0")

    keys.press("g")
    assert _focused(task) == "clue1", "what is missing next"
    for index in (1, 2, 3):
        _fill_card(task, index)
    assert task.root.locator("#tally").text_content() == "3 of 3 complete"
    keys.press("Control+Enter")
    task.page.wait_for_url("**/mturk/externalSubmit")
    (assignment,) = collected(Batch.objects.get())
    assert assignment.match == SubmissionMatch.MATCHED
    assert [len(row["boxes"]) for row in rows_of(Submission.objects.get())] == [1, 1, 1]


def _fill_card(task: Task, index: int) -> None:
    """Fill in a card from its first field; ends on the next card's first field."""
    keys = task.page.keyboard
    assert _focused(task) == f"clue{index}"
    keys.type(f"the thing number {index} at the window")
    keys.press("Enter")
    assert _focused(task) == f"draw{index}", "Enter goes on"
    if index > 1:
        keys.press("Enter")  # the box appears, ready for the arrows
        for _ in range(index):
            keys.press("Shift+ArrowRight")
        assert f"Box {index} at" in task.announcement()
    _tab_to(task, f"inf{index}")
    keys.type(f"Somebody will come back for it in {index} hours.")
    _tab_to(task, f"c{index}-1")
    keys.press("Space")
    if index < 3:
        keys.press("j")


def test_submitting_too_early_leads_to_what_is_missing(open_task: OpenTask) -> None:
    task = open_task()
    task.page.keyboard.press("2")
    assert _focused(task) == "clue2"
    task.page.keyboard.press("Control+Enter")
    assert _focused(task) == "clue1"
    assert task.announcement().startswith("Not complete yet: 1,")


def test_focus_survives_what_is_taken_away(open_task: OpenTask) -> None:
    task = open_task()
    keys = task.page.keyboard
    task.root.locator("#photo").focus()
    keys.press("b")
    task.root.locator("[data-tool=undo]").focus()
    keys.press("Enter")  # the button goes out under the focus
    assert _focused(task) == "photo"
    keys.press("b")
    task.root.locator("[data-remove]").focus()
    keys.press("Enter")
    assert _focused(task) == "draw1"
    keys.press("?")
    task.root.locator("#shortcuts[open]").wait_for()
    keys.press("Escape")
    assert _focused(task) == "draw1", "the list gives it back"


def test_single_keys_can_be_turned_off_on_this_device(open_task: OpenTask) -> None:
    task = open_task()
    keys = task.page.keyboard
    keys.press("?")
    task.root.get_by_role("button", name="Turn keys off").click()
    task.root.get_by_role("button", name="Close").click()
    for _ in range(2):
        task.root.locator("#photo").focus()
        for key in ("b", "h", "3", "g", "?", "+"):
            keys.press(key)
        assert task.boxes() == []
        assert task.root.locator("dialog[open]").count() == 0
        assert task.root.locator("#o1").get_attribute("open") is not None
        task.page.reload()
        task.ready()
    task.root.locator("#photo").focus()
    keys.press("Enter")  # what is no letter still works
    assert len(task.boxes()) == 1
    task.root.locator("[data-tool=help]").click()
    task.root.get_by_role("button", name="Turn keys on").click()
    task.root.get_by_role("button", name="Close").click()
    task.root.locator("#photo").focus()
    keys.press("b")
    assert len(task.boxes()) == 2
