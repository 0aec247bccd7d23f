"""No work is lost: tabs, devices, outages, crashes, returned tasks, submissions that fail."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Route

from hits.domain.states import SubmissionMatch
from hits.marketplace.models import Assignment as Slot
from hits.marketplace.models import Attempt, Clock
from hits.marketplace.services.attempts import return_task
from hits.models import Assignment, Batch, Draft, Submission
from tests.support import market
from tests.support.box_editor import Task, agreed, task_address
from tests.support.loop import collected
from tests.support.pages import until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OpenTask = Callable[..., Task]
OpenPage = Callable[..., Any]


def _again(task: Task, page: Any, address: str = "") -> Task:
    """Open the task in another tab or on another device."""
    page.goto(address or task.address)
    return Task(page, page, task.width, task.height, task.accepted).ready().fold()


def _give_back(task: market.Accepted) -> None:
    """Return the task; the next one who accepts gets the very assignment."""
    return_task(worker=task.worker, assignment_id=task.slot.assignment_id, now=Clock.now())


def _clue(task: Task) -> str:
    return str(task.root.locator("#clue1").input_value())


def _bar(task: Task, text: str) -> Any:
    return task.root.locator(".note-bar", has_text=text)


def _kept_keys(task: Task) -> list[str]:
    """Return the names of the drafts that this device keeps."""
    script = "Object.keys(localStorage).filter((key) => key.includes(':draft:'))"
    return list(task.page.evaluate(script))


def test_a_second_tab_follows_silently_and_another_device_is_asked_about(
    open_task: OpenTask, open_page: OpenPage
) -> None:
    one = open_task()
    two = _again(one, one.page.context.new_page())
    one.root.locator("#clue1").fill("the open umbrella")
    one.drag((10, 10), (100, 100))
    until(two.page, lambda: _clue(two) == "the open umbrella" and two.boxes() == one.boxes() != [])
    two.root.locator("#inf1").fill("It began to rain during the meal.")
    until(one.page, lambda: one.root.locator("#inf1").input_value().startswith("It began"))
    two.wait_saved()
    assert one.root.locator(".note-bar").count() == two.root.locator(".note-bar").count() == 0

    other = _again(one, open_page())
    assert _clue(other) == "the open umbrella"
    other.page.context.set_offline(True)
    other.root.locator("#clue1").fill("the table in the rain")
    other.root.locator("#save").get_by_text("Not saved yet, kept on this device").wait_for()
    one.root.locator("#clue1").fill("the open red umbrella")
    one.wait_saved()
    other.page.context.set_offline(False)
    bar = _bar(other, "changed in another window")
    bar.wait_for()
    text = bar.inner_text()
    assert re.search(r"In this window: 0 of 3 complete, 1 box, changed \d\d:\d\d", text)
    assert re.search(r"In the other window: 0 of 3 complete, 1 box, changed \d\d:\d\d", text)
    assert "Observation 1 differs" in text
    bar.get_by_role("button", name="Use the other version").click()
    assert _clue(other) == "the open red umbrella"
    assert bar.count() == 0
    assert other.page.evaluate("document.activeElement.tagName") != "BODY", "focus went somewhere sensible"
    other.root.locator(".toast").get_by_role("button", name="Undo").click()
    assert _clue(other) == "the table in the rain"
    until(
        one.page,
        lambda: Draft.objects.get().content["answer"]["observations"][0]["clue"] == "the table in the rain",
    )


def test_offline_a_crash_and_an_expired_key_lose_nothing(open_task: OpenTask) -> None:
    task = open_task()
    context = task.page.context
    context.set_offline(True)
    task.root.locator("#clue1").fill("written in a tunnel")
    task.root.locator("#save").get_by_text("Not saved yet, kept on this device").wait_for()
    context.set_offline(False)
    task.wait_saved()
    assert Draft.objects.get().content["answer"]["observations"][0]["clue"] == "written in a tunnel"

    # The page dies in the middle of a word, and the server has not heard of it.
    context.route("**/hit/api/draft", lambda route: route.abort())
    task.root.locator("#clue1").press_sequentially(", and in a tun")
    with suppress(PlaywrightError):
        task.page.goto("chrome://crash", timeout=5000)
    task.page.close()
    context.unroute("**/hit/api/draft")
    task = _again(task, context.new_page())
    assert _clue(task) == "written in a tunnel, and in a tun"
    task.wait_saved()

    refusal = {"status": 401, "json": {"error": "This page is too old. Reload the task."}}
    context.route("**/hit/api/draft", lambda route: route.fulfill(**refusal))
    task.root.locator("#clue1").press_sequentially("nel")
    bar = _bar(task, "open too long")
    bar.wait_for()
    assert "Not saved: reload the page" in task.root.locator("#save").inner_text()
    context.unroute("**/hit/api/draft")
    with task.page.expect_navigation():
        bar.get_by_role("button", name="Reload").click()
    task.ready()
    assert _clue(task) == "written in a tunnel, and in a tunnel"
    task.wait_saved()
    assert task.boxes() == []


def test_the_same_photo_again_is_offered_to_the_same_worker_alone(open_task: OpenTask) -> None:
    task = open_task(redundancy=3)
    hit, wilma = task.accepted.hit, task.accepted.worker
    task.root.locator("#clue1").fill("the covered barbecue")
    task.drag((10, 10), (100, 100))
    task.wait_saved()
    context = task.page.context
    task.page.close()

    # The marketplace gives the very assignment to somebody else, who uses the same device.
    _give_back(task.accepted)
    stranger = agreed(market.accept(hit, market.market_worker("walter")))
    assert stranger.slot == task.accepted.slot
    theirs = _again(task, context.new_page(), task_address(stranger))
    assert (_clue(theirs), theirs.boxes(), theirs.root.locator(".note-bar").count()) == ("", [], 0)
    assert "the covered barbecue" not in theirs.page.content()
    assert wilma.worker_id not in str(_kept_keys(theirs)), "and the names tell nobody's id"

    # The same worker under another assignment of it: offered, not mixed in.
    second = market.accept(hit, wilma)
    again = _again(task, context.new_page(), task_address(second))
    assert (_clue(again), again.boxes()) == ("", [])
    bar = _bar(again, "You started this task before.")
    assert re.search(r"0 of 3 complete, 1 box, changed \d\d:\d\d", bar.inner_text())
    bar.get_by_role("button", name="Continue").click()
    assert (_clue(again), len(again.boxes()), bar.count()) == ("the covered barbecue", 1, 0)
    again.wait_saved()
    again.page.reload()
    again.ready()
    assert (_clue(again), again.root.locator(".note-bar").count()) == ("the covered barbecue", 0)

    _give_back(second)
    market.accept(hit, market.market_worker("xenia"))
    fresh = _again(task, context.new_page(), task_address(market.accept(hit, wilma)))
    _bar(fresh, "You started this task before.").get_by_role("button", name="Start over").click()
    assert (_clue(fresh), fresh.root.locator(".note-bar").count()) == ("", 0)
    fresh.page.reload()
    assert fresh.ready().root.locator(".note-bar").count() == 0, "asked once"


def test_a_failed_submission_can_be_repeated_and_a_completed_one_is_forgotten(
    open_task: OpenTask,
) -> None:
    task = open_task()
    context, page = task.page.context, task.page
    other = _again(task, context.new_page())
    page.bring_to_front()
    task.complete()
    context.route("**/mturk/externalSubmit", lambda route: route.abort())
    page.get_by_role("button", name="Submit for $1.10").click()
    until(other.page, lambda: page.url.startswith("chrome-error"))  # the page is gone; the work is not
    _bar(other, "being submitted from another window").wait_for()
    assert other.root.locator("main.work").get_attribute("inert") is not None
    known = other.boxes()
    other.drag((300, 300), (400, 400))
    other.page.keyboard.press("b")
    assert other.boxes() == known, "neither pointer nor keys change what is on its way"
    assert not collected(Batch.objects.get())

    task = _again(task, page)
    assert task.root.locator("#tally").text_content() == "3 of 3 complete"
    bar = _bar(task, "One step is left")
    context.unroute("**/mturk/externalSubmit")
    bar.get_by_role("button", name="Finish submitting").click()
    page.wait_for_url("**/mturk/externalSubmit")
    (assignment,) = collected(Batch.objects.get())
    assert assignment.match == SubmissionMatch.MATCHED
    assert Submission.objects.count() == 1

    done = _again(task, page)
    _bar(done, "Nothing is left to do here").wait_for()
    assert _kept_keys(done) == [], "the device forgets what is known to have arrived"
    assert done.root.get_by_role("button", name="Submit").get_attribute("aria-disabled") == "true"


def test_a_marketplace_that_does_not_answer_gives_the_page_back(open_task: OpenTask) -> None:
    task = open_task()
    task.page.clock.install()
    task.page.reload()
    task.page.clock.run_for(3000)
    task.ready().fold().complete()
    context = task.page.context
    asked = []

    def answer_without_content(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=204)

    context.route("**/mturk/externalSubmit", answer_without_content)
    task.page.get_by_role("button", name="Submit for $1.10").click()
    task.root.get_by_role("button", name="Submitting…").wait_for()
    until(task.page, lambda: bool(asked))  # from here on the page waits for an answer
    assert Submission.objects.exists()
    task.page.clock.run_for(21_000)
    bar = _bar(task, "The marketplace does not have it yet")
    bar.wait_for()
    assert task.root.locator("main.work").get_attribute("inert") is None
    context.unroute("**/mturk/externalSubmit")
    bar.get_by_role("button", name="Finish submitting").click()
    task.page.wait_for_url("**/mturk/externalSubmit")
    assert len(collected(Batch.objects.get())) == 1


def test_two_devices_give_one_submission_and_a_late_one_a_clear_word(
    open_task: OpenTask, open_page: OpenPage
) -> None:
    task = open_task()
    task.complete()
    task.wait_saved()
    other = _again(task, open_page())
    other.root.locator("#clue1").fill("another clue, on the telephone")
    task.page.get_by_role("button", name="Submit for $1.10").click()
    task.page.wait_for_url("**/mturk/externalSubmit")
    other.page.get_by_role("button", name="Submit for $1.10").click()
    other.page.wait_for_url("**/mturk/externalSubmit")
    assert "Submitted" in other.page.inner_text("body")
    (assignment,) = collected(Batch.objects.get())
    assert assignment.match == SubmissionMatch.MATCHED
    assert assignment.submission.answer["observations"][0]["clue"] == "the thing number 1 at the window"


def test_after_the_deadline_the_marketplace_refuses_and_the_work_stays(open_task: OpenTask) -> None:
    task = open_task()
    task.complete()
    now = timezone.now()
    Attempt.objects.update(deadline=now)
    Slot.objects.update(deadline=now)
    task.page.get_by_role("button", name="Submit for $1.10").click()
    task.page.wait_for_url("**/mturk/externalSubmit")
    assert "The time for this task ran out" in task.page.inner_text("body")
    assert not Assignment.objects.exists()
    back = _again(task, task.page)
    assert back.root.locator("#tally").text_content() == "3 of 3 complete"
    assert len(_kept_keys(back)) == 1
