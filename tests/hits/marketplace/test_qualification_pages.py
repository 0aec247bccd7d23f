"""The worker's pages for qualifications: list, page, test and result."""

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from hits.marketplace.models import QualificationRequest, RequestState, Worker
from tests.hits.marketplace.support import advance_time, hit_params
from tests.hits.marketplace.test_qualification_requests import SCORED, WITH_TEST, ask, held
from tests.hits.marketplace.test_qualifications import make_type
from tests.support.question_forms import choice, form_xml, free_text, question

Browser = Callable[[Worker], Client]
LIST = "/work/qualifications"
SKY_BLUE = {"q1": ["blue"], "q2": ["apple", "pear"]}


def text(answer: Any) -> str:
    """Return the text of a page without its markup."""
    return " ".join(unescape(strip_tags(answer.content.decode().replace("<", " <"))).split())


def test_closed_group_links_to_test_and_passing_opens_it(
    local_client: Any, worker: Worker, browser: Browser
) -> None:
    type_id = make_type(local_client, "Photo reader", **SCORED)
    asked = [{"QualificationTypeId": type_id, "Comparator": "GreaterThan", "IntegerValues": [50]}]
    local_client.create_hit(**hit_params(QualificationRequirements=asked))
    client = browser(worker)
    assert f'href="{LIST}/{type_id}"' in client.get("/work/").content.decode()
    assert "Test with a time limit of 10 min." in text(client.get(LIST))
    shown = text(client.get(f"{LIST}/{type_id}"))
    assert "Start the test" in shown
    assert "Before you start" not in shown, "the questions are shown when the clock runs"
    started = client.post(f"{LIST}/{type_id}/ask")
    assert started["Location"] == f"{LIST}/{type_id}/test"
    page = client.get(started["Location"])
    assert "Before you start" in text(page)
    assert "img-src 'self' data: http://127.0.0.1:8000 https:" in page["Content-Security-Policy"]
    assert "Continue the test" in text(client.get(LIST))
    done = client.post(started["Location"], SKY_BLUE, follow=True)
    assert "You hold this qualification. Value 100" in text(done)
    assert held(worker, type_id) == 100
    assert "Closed to you" not in text(client.get("/work/"))
    assert client.get(started["Location"])["Location"] == f"{LIST}/{type_id}"


def test_failed_check_keeps_typed_answers(local_client: Any, worker: Worker, browser: Browser) -> None:
    asked = form_xml(
        question(
            "why",
            free_text('<Length minLength="5"/>', "<NumberOfLinesSuggestion>3</NumberOfLinesSuggestion>"),
        ),
        question("age", free_text('<IsNumeric minValue="18" maxValue="99"/>'), name="Your age"),
        question("sky", choice("blue", "green"), required=True),
    )
    type_id = make_type(local_client, Test=asked, TestDurationInSeconds=600)
    client = browser(worker)
    client.post(f"{LIST}/{type_id}/ask")
    failed = client.post(f"{LIST}/{type_id}/test", {"q1": "<b>", "q2": "12 years"})
    assert failed.status_code == 400
    shown = text(failed)
    assert "3 answers need attention" in shown
    for words in (
        "Question 1: Write at least 5 characters.",
        "Your age: Write a number in digits",
        "Choose an answer.",
    ):
        assert words in shown
    assert "&lt;b&gt;" in failed.content.decode()
    assert 'value="12 years"' in failed.content.decode()
    assert QualificationRequest.objects.get().state == RequestState.TAKING
    sent = client.post(f"{LIST}/{type_id}/test", {"q1": "because", "q2": "44", "q3": "green"}, follow=True)
    assert "Request pending." in text(sent)
    assert QualificationRequest.objects.get().state == RequestState.PENDING


@pytest.mark.clock
def test_late_answers_stay_on_the_page(local_client: Any, worker: Worker, browser: Browser) -> None:
    asked = form_xml(question("why", free_text()))
    type_id = make_type(local_client, Test=asked, TestDurationInSeconds=60, RetryDelayInSeconds=3600)
    client = browser(worker)
    client.post(f"{LIST}/{type_id}/ask")
    advance_time(seconds=61)
    late = client.post(f"{LIST}/{type_id}/test", {"q1": "My careful answer"})
    assert late.status_code == 409
    shown = text(late)
    assert "Your answers came too late and do not count." in shown
    assert 'value="My careful answer"' in late.content.decode()
    assert "You can take the test again from" in shown
    assert "Submit the test" not in shown
    assert "The time for the test ran out." in text(client.get(f"{LIST}/{type_id}"))
    advance_time(hours=1)
    assert "Take the test again" in text(client.get(f"{LIST}/{type_id}"))


def test_request_waits_and_shows_decision(local_client: Any, worker: Worker, browser: Browser) -> None:
    once = make_type(local_client, "Once")
    given = make_type(local_client, "Given", AutoGranted=True, AutoGrantedValue=4)
    client = browser(worker)
    assert "The requester decides." in text(client.get(LIST))
    assert "Request pending." in text(client.post(f"{LIST}/{once}/ask", follow=True))
    assert "You hold this qualification. Value 4" in text(client.post(f"{LIST}/{given}/ask", follow=True))
    (row,) = local_client.list_qualification_requests()["QualificationRequests"]
    local_client.reject_qualification_request(
        QualificationRequestId=row["QualificationRequestId"], Reason="Too new <here>."
    )
    refused = text(client.get(f"{LIST}/{once}"))
    assert "Request rejected. The reason: “Too new <here>.”" in refused
    assert "You can request this qualification only once." in refused
    assert "Request this qualification" not in refused
    again = client.post(f"{LIST}/{once}/ask", follow=True)
    assert "You cannot request this qualification right now" in text(again)


def test_offered_types_are_searched_and_paged(local_client: Any, worker: Worker, browser: Browser) -> None:
    for number in range(12):
        make_type(local_client, f"Round {number:02}", Keywords="owls" if number == 11 else "")
    client = browser(worker)
    first = text(client.get(LIST))
    assert "Search qualifications" in first
    assert "Page 1 of 2" in first
    assert "Round 11" not in first
    assert "Round 11" in text(client.get(f"{LIST}?page=2"))
    found = text(client.get(f"{LIST}?q=OWLS"))
    assert "Round 11" in found
    assert "Round 00" not in found
    assert "No available qualification matches “moose”" in text(client.get(f"{LIST}?q=moose"))


def test_query_count_does_not_grow_with_types(local_client: Any, worker: Worker, browser: Browser) -> None:
    client = browser(worker)
    counts = []
    for number in (1, 9):
        for index in range(number):
            ask(worker, make_type(local_client, f"{number}-{index}"))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(LIST)
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("path", "method"), [("", "get"), ("/test", "get"), ("/test", "post"), ("/ask", "post")]
)
def test_qualification_pages_are_for_workers_only(
    local_client: Any, worker: Worker, other: Worker, browser: Browser, path: str, method: str
) -> None:
    type_id = make_type(local_client, **WITH_TEST)
    ask(worker, type_id)
    address = f"{LIST}/{type_id}{path}"
    assert "/sign-in/" in getattr(Client(), method)(address)["Location"]
    outsider = Client()
    outsider.force_login(
        get_user_model().objects.create_user("r"), backend="django.contrib.auth.backends.ModelBackend"
    )
    assert getattr(outsider, method)(address).status_code == 403
    client = browser(other)
    assert getattr(client, method)(f"{LIST}/3NONE{path}").status_code == 404
    if method == "post":
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(worker.user, backend="django.contrib.auth.backends.ModelBackend")
        assert strict.post(address).status_code == 403
    if path == "/ask":
        assert client.get(address).status_code == 405
    if path == "/test":
        assert (
            getattr(client, method)(address, **({"data": SKY_BLUE} if method == "post" else {})).status_code
            == 302
        )
        assert QualificationRequest.objects.get().state == RequestState.TAKING
