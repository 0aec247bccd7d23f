"""An old HTML template in a real browser: it reads its address, is filled in and submitted, and sees nothing else."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest

from hits.domain.mturk_formats.answer_xml import parse_answer
from hits.marketplace import transport
from hits.marketplace.formats.html_question import build_html_question
from hits.marketplace.models import Assignment, Attempt, Clock, Requester
from hits.marketplace.services import accounts
from hits.marketplace.services.layouts import create_layout
from tests.hits.marketplace.support import hit_params
from tests.hits.marketplace.test_questions import FORM
from tests.support import market
from tests.support.axe import check_page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Written as such pages were: a script reads the query and sets the form's address, fields are named by hand.
OLD_PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><style>label { display: block }</style>
<script>
function parameter(name) {
  var found = new RegExp('[?&]' + name + '=([^&#]*)').exec(window.location.href);
  return found ? decodeURIComponent(found[1]) : '';
}
window.onload = function () {
  var form = document.getElementById('mturk_form');
  document.getElementById('seen').textContent = parameter('assignmentId');
  if (parameter('assignmentId') === 'ASSIGNMENT_ID_NOT_AVAILABLE') {
    document.getElementById('submitButton').value = 'Accept the HIT first';
  }
  SET_ACTION
  form.onsubmit = function () {
    if (form.mood.value) return true;
    alert('Choose a mood first.');
    return false;
  };
  try { document.getElementById('cookie').textContent = 'cookie: ' + document.cookie; }
  catch (refusal) { document.getElementById('cookie').textContent = 'no cookie'; }
  try { document.getElementById('outside').textContent = parent.document.title; }
  catch (refusal) { document.getElementById('outside').textContent = 'no parent'; }
  try { localStorage.setItem('a', 'b'); document.getElementById('storage').textContent = 'storage'; }
  catch (refusal) { document.getElementById('storage').textContent = 'no storage'; }
};
</script></head><body>
<p id="seen"></p><p id="cookie"></p><p id="outside"></p><p id="storage"></p>
<form name="mturk_form" id="mturk_form" METHOD action="ACTION">
  FIELD
  <label><input type="radio" name="mood" value="calm"> calm</label>
  <label><input type="radio" name="mood" value="tense"> tense</label>
  <label><input type="checkbox" name="seen_people" value="yes"> people</label>
  <label>Why? <input type="text" name="why"></label>
  <input type="submit" id="submitButton" value="Submit">
</form></body></html>"""

BY_SCRIPT = {
    "METHOD": 'method="post"',
    "ACTION": "",
    "FIELD": '<input type="hidden" name="assignmentId" id="assignmentId" value="">',
    "SET_ACTION": "form.action = parameter('turkSubmitTo') + '/mturk/externalSubmit';"
    "document.getElementById('assignmentId').value = parameter('assignmentId');",
}
BY_HAND = {
    "METHOD": 'method="post"',
    "ACTION": "https://www.mturk.com/mturk/externalSubmit",
    "FIELD": "<input type='hidden' value='' name='assignmentId'/>",
    "SET_ACTION": "",
}
# As LabelMe's page does, and as video annotation's did: a form is sent by GET where it names no method.
BY_GET = BY_SCRIPT | {"METHOD": ""}


def old_page(**parts: str) -> str:
    """Return the template with its parts in place."""
    html = OLD_PAGE.replace("SET_ACTION", parts["SET_ACTION"]).replace("METHOD", parts["METHOD"])
    return html.replace("ACTION", parts["ACTION"], 1).replace("FIELD", parts["FIELD"])


@pytest.fixture
def requester(site: str) -> Any:
    """A requester's boto3 client, in process."""
    pair = accounts.create_key_pair(name="Abduction lab", funds_cents=10_000)
    client = boto3.client(
        "mturk",
        region_name="us-east-1",
        endpoint_url="http://localhost:8000/mturk/",
        aws_access_key_id=pair.access_key_id,
        aws_secret_access_key=pair.secret_access_key,
    )
    transport.attach_transport(client)
    return client


@pytest.mark.rule(
    "html-question-in-a-browser",
    source="X",
    text="Old HTML pages submit from the sandboxed frame, whether a script or the page itself names the address.",
)
@pytest.mark.parametrize("parts", [BY_SCRIPT, BY_HAND, BY_GET], ids=["by script", "by hand", "by GET"])
def test_an_old_page_is_previewed_filled_in_and_submitted(
    requester: Any,
    open_page: Callable[..., Any],
    sign_in: Callable[[Any, str], None],
    parts: dict[str, str],
) -> None:
    question = build_html_question(old_page(**parts), 450)
    hit = requester.create_hit(**hit_params(Question=question, MaxAssignments=1))["HIT"]
    market.market_worker("wilma")
    page = open_page(390, 844)
    sign_in(page, "wilma")

    page.goto(f"/work/groups/{hit['HITTypeId']}/preview")
    frame = page.frame_locator("iframe")
    frame.locator("#seen").get_by_text("ASSIGNMENT_ID_NOT_AVAILABLE").wait_for()
    frame.get_by_role("button", name="Accept the HIT first").click()
    frame.locator("#seen").get_by_text("ASSIGNMENT_ID_NOT_AVAILABLE").wait_for()

    page.get_by_role("button", name="Start").click()
    slot = Assignment.objects.get()
    frame = page.frame_locator("#task-frame")
    frame.locator("#seen").get_by_text(slot.assignment_id).wait_for()
    assert frame.locator("#cookie").inner_text() == "cookie:"
    assert frame.locator("#outside").inner_text() == "no parent"
    assert frame.locator("#storage").inner_text() == "storage"
    frame.get_by_role("button", name="Submit").click()
    alert = frame.get_by_role("alert")
    alert.get_by_text("Choose a mood first.").wait_for()
    alert.get_by_role("button", name="OK").click()
    alert.wait_for(state="detached")
    frame.get_by_label("tense").check()
    frame.get_by_label("people").check()
    frame.get_by_label("Why?").fill("Fists, frowns & <silence>")
    frame.get_by_role("button", name="Submit").click()
    page.locator("#done").get_by_text("Submitted.").wait_for()

    (row,) = requester.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert parse_answer(row["Answer"]) == {
        "mood": "tense",
        "seen_people": "yes",
        "why": "Fists, frowns & <silence>",
    }
    assert Attempt.objects.get().outcome == "submitted"


# A page of Amazon's editor: its site put form and button around it, and its library in front.
EDITOR_PAGE = """<section><p>${text}</p><p id="seen"></p>
<label>What is it? <input name="what" required></label>
<label><input type="checkbox" name="seen_there" value="dog"> dog</label>
<label><input type="checkbox" name="seen_there" value="kite"> kite</label></section>
<script>turkSetAssignmentID();
document.getElementById('seen').textContent = turkGetParam('assignmentId', '');</script>"""


def test_a_layout_of_amazons_editor_is_filled_in_and_submitted(
    requester: Any, open_page: Callable[..., Any], sign_in: Callable[[Any, str], None]
) -> None:
    account = Requester.objects.get(name="Abduction lab")
    layout = create_layout(requester=account, name="Kite", html=EDITOR_PAGE, now=Clock.now())
    values = [{"Name": "text", "Value": "<b>Look up</b>"}]
    params = hit_params(HITLayoutId=layout.layout_id, HITLayoutParameters=values, MaxAssignments=1)
    del params["Question"]
    hit = requester.create_hit(**params)["HIT"]
    market.market_worker("wilma")
    page = open_page(390, 844)
    sign_in(page, "wilma")
    page.goto(f"/work/groups/{hit['HITTypeId']}/preview")
    page.get_by_role("button", name="Start").click()
    frame = page.frame_locator("#task-frame")
    frame.locator("#seen").get_by_text(Assignment.objects.get().assignment_id).wait_for()
    frame.get_by_text("Look up").wait_for()
    frame.get_by_label("What is it?").fill("A kite")
    frame.get_by_label("dog", exact=True).check()
    frame.get_by_label("kite", exact=True).check()
    frame.get_by_role("button", name="Submit").click()
    page.locator("#done").get_by_text("Submitted.").wait_for()
    (row,) = requester.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert parse_answer(row["Answer"]) == {"what": "A kite", "seen_there": "dog|kite"}


def test_a_form_of_the_marketplace_is_corrected_and_submitted(
    requester: Any, open_page: Callable[..., Any], sign_in: Callable[[Any, str], None]
) -> None:
    hit = requester.create_hit(**hit_params(Question=FORM, MaxAssignments=1))["HIT"]
    market.market_worker("wilma")
    page = open_page(390, 844)
    sign_in(page, "wilma")
    page.goto(f"/work/groups/{hit['HITTypeId']}/preview")
    assert page.get_by_label("Tense").is_disabled()
    page.get_by_role("button", name="Start").click()
    page.get_by_label("Tense").check()
    page.get_by_role("button", name="Submit for $1.10").click()
    page.get_by_role("alert").get_by_text("Write an answer.").wait_for()
    assert page.get_by_label("Tense").is_checked()
    check_page(page, "with a problem")
    page.get_by_role("textbox").fill("Fists & frowns")
    page.get_by_role("button", name="Submit for $1.10").click()
    page.get_by_text("You submitted this task").wait_for()
    (row,) = requester.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert parse_answer(row["Answer"]) == {"mood": "tense", "why": "Fists & frowns"}
