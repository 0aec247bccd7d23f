"""Live hints in a browser: shown while writing, ignored for good, reported with the submission."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Response, expect

from hits.models import Draft, Submission
from tests.support import box_editor
from tests.support.pages import wait_until_seen

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def _about(*words: str) -> Callable[[Response], bool]:
    """Return whether a response is the server's answer about a text with all of these words."""

    def is_it(response: Response) -> bool:
        asked = response.request.post_data or ""
        return response.url.endswith("/hit/api/hints") and all(some in asked for some in words)

    return is_it


def test_a_hint_is_shown_ignored_and_reported(open_task: Callable[..., box_editor.Task]) -> None:
    task = open_task()
    card = task.root.locator("#o1")
    assert card.locator("[data-hints]").get_attribute("role") == "status"
    card.locator("#clue1").fill("a cup by the sink")
    card.locator("#inf1").fill("She has just had tea with her friends.")
    card.locator(".hint").nth(1).wait_for()
    texts = card.locator(".hint").all_inner_texts()
    assert len(texts) == 2, "two at a time, although there are three"
    assert "Draw a box" in texts[0]
    assert card.locator(".hint mark").inner_text() == "She"

    card.locator(".hint", has_text="She").get_by_role("button", name="Ignore").click()
    card.locator(".hint mark", has_text="her").wait_for()
    assert task.root.locator(":focus").inner_text() == "Ignore", "focus goes on to another hint"
    card.locator("#inf1").fill("She has just had tea with their friends.")
    card.locator(".hint mark", has_text="her").wait_for(state="detached")
    task.wait_saved()
    assert {row["quote"]: row["dismissed"] for row in Draft.objects.get().content["hints"]}["She"]

    task.page.reload()
    task.ready().fold()
    card.locator(".hint", has_text="Draw a box").wait_for()
    assert card.locator(".hint").count() == 1, "what was ignored does not come back"

    task.complete()
    card.locator("summary").click()
    # The report tells what the last answer said: that one has to be in, not only an earlier one's hints gone.
    with task.page.expect_response(_about("tea with their friends", "thing number 3")) as answer:
        card.locator("#inf1").fill("She has just had tea with their friends.")
    answer.value.finished()
    wait_until_seen(task.page)
    expect(card.locator(".hint")).to_have_count(0)
    task.root.locator("#submit").click()
    task.page.wait_for_url(lambda url: "externalSubmit" in url)
    rows = {(row["rule"], row["quote"]): row for row in Submission.objects.get().hints}
    assert (rows["pronoun", "She"]["dismissed"], rows["pronoun", "She"]["fixed"]) == (True, False)
    assert (rows["pronoun", "her"]["dismissed"], rows["pronoun", "her"]["fixed"]) == (False, True)
    assert rows["no_box", ""]["fixed"] is True


def test_without_an_answer_the_page_is_silent(open_task: Callable[..., box_editor.Task]) -> None:
    task = open_task()
    asked = []
    task.page.route("**/hit/api/hints", lambda route: (asked.append(1), route.abort()))
    with task.page.expect_request("**/hit/api/hints"):
        task.root.locator("#inf1").fill("She has just had tea.")
    task.wait_saved()
    assert asked
    assert task.root.locator(".hint").count() == 0
    assert task.root.locator("#bars .note-bar").count() == 0
