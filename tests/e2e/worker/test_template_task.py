"""A page as they were made for Mechanical Turk's editor in the 2010s, filled in inside the worker site's frame."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from hits.domain.mturk_formats.external_question import NO_ASSIGNMENT, frame_url
from hits.domain.states import SubmissionMatch
from hits.domain.task_template.rows import parse_rows
from hits.marketplace.models import HIT
from hits.models import Draft, Project, Submission
from hits.mturk.boto import marketplace
from hits.selectors.listing import TaskListing
from hits.selectors.results import result_rows
from hits.services.launching import template_launch
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from tests.support import box_editor, market
from tests.support.axe import check_page
from tests.support.loop import collected
from tests.support.pages import until

OLD_PAGE = """<script type="text/javascript">
function param(name) {
  var found = new RegExp("[?&]" + name + "=([^&#]*)").exec(window.location.search);
  return found ? decodeURIComponent(found[1]) : "";
}
</script>
<style>h3 { color: navy }</style>
<form name="mturk_form" method="post" id="mturk_form" action="https://www.mturk.com/mturk/externalSubmit">
<input type="hidden" value="" name="assignmentId" id="assignmentId"/>
<h3>What is in ${city}?</h3>
<p>${note}</p>
<p><label><input type="radio" name="size" value="small" required> Small</label>
   <label><input type="radio" name="size" value="large"> Large</label></p>
<p><label><input type="checkbox" name="has" value="harbour"> Harbour</label>
   <label><input type="checkbox" name="has" value="castle"> Castle</label>
   <label><input type="checkbox" name="has" value="tram"> Tram</label></p>
<p><label for="why">Why do you think so?</label><br><textarea name="why" id="why" rows="3" cols="40"></textarea></p>
<p><label>Your guess of its age <input name="age" size="4"></label></p>
<input type="hidden" name="seen" id="seen">
<p><input type="submit" id="submitButton" value="Submit"></p>
</form>
<script type="text/javascript">
var preview = param("assignmentId") == "" || param("assignmentId") == "ASSIGNMENT_ID_NOT_AVAILABLE";
document.getElementById("submitButton").disabled = preview;
document.getElementById("seen").value = param("turkSubmitTo");
document.getElementById("mturk_form").onsubmit = function () {
  if (document.getElementById("why").value === "") { alert("Say why."); return false; }
  return confirm("Are you sure?");
};
</script>
"""
ROWS = 'city,note\nPorto,"<b>On a river</b>, by the sea"\n'
LISTING = TaskListing("Look at a city", "Say what you find there.", "city, form", 120)


@pytest.fixture
def accepted(site: str, project: Project) -> market.Accepted:
    """Return a task of the old page that a worker who agreed to everything took."""
    market.fund()
    template = template_launch.save_template(project=project, name="Cities", html=OLD_PAGE, by=None)
    plan = template_launch.TemplateLaunch(template, parse_rows(ROWS), LISTING)
    batch, _ = template_launch.launch_template(
        project=project, plan=plan, name="Cities", terms=LaunchTerms(reward_cents=40), by=None
    )
    publish.publish_batch(batch=batch, marketplace=marketplace())
    hit = batch.units.get().hits.get()
    return box_editor.agreed(market.accept(hit, market.market_worker()))


def open_in_site(page: Any, accepted: market.Accepted, sign_in: Callable[[Any, str], None]) -> Any:
    """Open the task on the worker site; returns the old page's own frame."""
    sign_in(page, "wilma")
    page.goto(f"/work/tasks/{accepted.slot.assignment_id}")
    task = page.frame_locator("#task-frame")
    task.locator(box_editor.READY).wait_for(state="attached")
    return task, task.frame_locator("#old-page")


def test_an_old_page_is_filled_in_and_comes_back_as_results(
    accepted: market.Accepted, open_page: Callable[..., Any], sign_in: Callable[[Any, str], None]
) -> None:
    page = open_page()
    task, old = open_in_site(page, accepted, sign_in)
    old.get_by_role("heading", name="What is in Porto?").wait_for()
    assert old.locator("b").text_content() == "On a river"
    old.get_by_label("Small").check()
    old.get_by_label("Harbour").check()
    old.get_by_label("Tram").check()
    old.locator("#submitButton").click()  # its own script wants a reason first
    task.locator("#bars").get_by_text("The page says: Say why.").wait_for()
    assert not Submission.objects.exists()
    old.locator("#why").fill("It lies by the sea,\nand = says so")
    old.locator("#submitButton").click()
    page.locator("#done").wait_for()
    stored = Submission.objects.get()
    assert stored.answer["fields"] == [
        ["size", "small"],
        ["has", "harbour"],
        ["has", "tram"],
        ["why", "It lies by the sea,\nand = says so"],
        ["age", ""],
        ["seen", settings.PUBLIC_URL],
    ]
    (assignment,) = collected(accepted.hit.unit.batch)
    assert assignment.match == SubmissionMatch.MATCHED
    heading, row = list(result_rows(accepted.hit.unit.batch))
    cells = dict(zip(heading, row, strict=True))
    assert cells["WorkerId"] == accepted.worker.worker_id
    assert cells["Title"] == "Look at a city"
    assert (cells["Input.city"], cells["Answer.has"]) == ("Porto", "harbour|tram")


def test_unfinished_fields_are_kept_and_come_back(
    accepted: market.Accepted, open_page: Callable[..., Any], sign_in: Callable[[Any, str], None]
) -> None:
    page = open_page(width=390, height=844)
    task, old = open_in_site(page, accepted, sign_in)
    old.get_by_label("Large").check()
    old.get_by_label("Castle").check()
    old.locator("#why").fill("Half a thought")
    task.locator("#save").get_by_text("Saved", exact=False).wait_for()
    until(page, lambda: "Half a thought" in str(Draft.objects.get().content))
    page = open_page()
    task, old = open_in_site(page, accepted, sign_in)
    old.locator("#why").wait_for()
    until(page, lambda: old.locator("#why").input_value() == "Half a thought")
    assert old.get_by_label("Large").is_checked()
    assert old.get_by_label("Castle").is_checked()
    assert not old.get_by_label("Harbour").is_checked()


def test_a_preview_cannot_be_submitted(accepted: market.Accepted, open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.goto(
        frame_url(
            HIT.objects.get().question_url,
            assignment_id=NO_ASSIGNMENT,
            hit_id=str(accepted.hit.hit_id),
            worker_id="",
            submit_to=settings.PUBLIC_URL,
        )
    )
    old = page.frame_locator("#old-page")
    old.get_by_label("Small").check()
    assert old.locator("#submitButton").is_disabled()  # the page's own script
    old.locator("#mturk_form").evaluate("form => form.submit()")
    page.locator("#bars").get_by_text("You can submit the page after you take the task").wait_for()
    assert not Submission.objects.exists()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_researcher_checks_looks_and_launches(
    site: str,
    project: Project,
    researcher: User,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    width: int,
) -> None:
    market.fund()
    page = open_page(width=width)
    sign_in(page, "rosa")
    page.goto(f"/projects/{project.slug}/templates/")
    page.get_by_label("Name").fill("Cities")
    page.get_by_label("Or paste the HTML").fill(OLD_PAGE.replace('for="why"', 'for="nothing"'))
    check_page(page, "adding a page")
    page.get_by_role("button", name="Check the template").click()
    page.get_by_text("but no element has that id").wait_for()
    page.get_by_label("Or pasted CSV").fill(ROWS + "Graz,In the hills\n")
    page.get_by_role("button", name="Check the rows").click()
    shown = page.frame_locator(".page-preview")
    shown.get_by_role("heading", name="What is in Porto?").wait_for()  # the first row, before anybody asks
    page.get_by_label("Row", exact=True).fill("2")
    page.get_by_role("button", name="Show the row").click()
    shown.get_by_role("heading", name="What is in Graz?").wait_for()
    check_page(page, "page with rows")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Description").fill("Say what you find there.")
    page.get_by_role("button", name="See what it costs").click()
    page.get_by_role("heading", name="Launch “Cities”?").wait_for()
    check_page(page, "what it costs")
    page.get_by_role("button", name="Launch 2 tasks").click()
    page.get_by_text("is launched; its 2 tasks").wait_for()
    batch = project.batches.get()
    page.goto(f"/batches/{batch.pk}/results")
    page.get_by_role("heading", name="No results yet").wait_for()
    check_page(page, "no results")


def test_the_old_page_reaches_nothing_but_the_page_around_it(
    accepted: market.Accepted, chromium: Any
) -> None:
    # A window of its own: what the policy refuses is what this test is about, and no fault of the page.
    context = chromium.new_context()
    page = context.new_page()
    page.goto(box_editor.task_address(accepted))
    page.locator(box_editor.READY).wait_for(state="attached")
    frame = page.locator("#old-page").element_handle().content_frame()
    assert frame.evaluate("window.origin") == "null"
    assert frame.evaluate("document.cookie") == ""
    assert frame.evaluate(_REFUSED, "window.parent.document.title") == "SecurityError"
    assert accepted.secret not in frame.evaluate("location.href")
    answered: list[str] = []
    page.on("response", lambda response: answered.append(response.url))
    assert frame.evaluate(_FETCH, settings.HIT_ORIGIN + "/hit/api/open") == "refused"
    assert frame.evaluate(_FETCH, settings.PUBLIC_URL + "/healthz") == "refused"
    assert frame.evaluate(_PICTURE, settings.PUBLIC_URL + "/static/img/favicon.svg") == "refused"
    assert answered == []
    context.close()


_FETCH = "url => fetch(url, {method: 'POST', mode: 'no-cors'}).then(() => 'sent', () => 'refused')"
_REFUSED = """code => { try { return String(eval(code)); } catch (error) { return error.name; } }"""
_PICTURE = """url => new Promise((done) => {
    const image = new Image();
    image.onload = () => done('sent');
    image.onerror = () => done('refused');
    image.src = url;
})"""
