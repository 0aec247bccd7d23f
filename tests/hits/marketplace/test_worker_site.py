"""The worker site in a browser: access, and the way from the list to the earnings."""

import logging
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.test import Client

from hits.marketplace.models import Assignment, Attempt, Outcome, SlotState, Worker
from tests.hits.marketplace.support import accept, advance_time, hit_params, secret_of, submit_task, work

Browser = Callable[[Worker], Client]


def frame_of(page: bytes) -> tuple[str, dict[str, list[str]]]:
    """Return the iframe's address without its query, and the query."""
    src = unescape(page.decode().split("<iframe", 1)[1].split('src="', 1)[1].split('"', 1)[0])
    parts = urlsplit(src)
    return f"{parts.scheme}://{parts.netloc}{parts.path}", parse_qs(parts.query)


@pytest.mark.rule("preview-id", source="D", text="In a preview assignmentId is ASSIGNMENT_ID_NOT_AVAILABLE.")
@pytest.mark.rule(
    "submit-to",
    source="D",
    text="A task's page posts its form to turkSubmitTo followed by /mturk/externalSubmit; the frame needs "
    "no cookie.",
)
def test_list_preview_accept_submit_and_earn(local_client: Any, worker: Worker, browser: Browser) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    client = browser(worker)
    listing = client.get("/work/").content.decode()
    assert "Write observations about one photo" in listing
    assert "$1.10" in listing
    assert "Abduction lab" in listing
    seen = client.get(f"/work/groups/{hit['HITTypeId']}/preview")
    address, query = frame_of(seen.content)
    assert address == "https://example.org/task"
    assert query["assignmentId"] == ["ASSIGNMENT_ID_NOT_AVAILABLE"]
    assert query["workerId"] == [worker.worker_id]
    assert query["unit"] == ["7"]
    taken = client.post(f"/work/groups/{hit['HITTypeId']}/accept")
    task = client.get(taken["Location"])
    address, query = frame_of(task.content)
    assert query["hitId"] == [hit["HITId"]]
    submit_to = query["turkSubmitTo"][0]
    assert submit_to.startswith("http://localhost:8000/a/")
    # No cookie, as from a cross-site frame; only the path identifies the attempt.
    receipt = Client().post(
        urlsplit(submit_to).path + "/mturk/externalSubmit",
        {"assignmentId": query["assignmentId"][0], "submission_id": "9", "sha256": "f" * 64},
    )
    assert receipt.status_code == 200
    assert "Submitted" in receipt.content.decode()
    assert receipt["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in receipt["Content-Security-Policy"]
    assert not receipt.cookies
    assert "is in review" in client.get(taken["Location"]).content.decode()
    local_client.approve_assignment(AssignmentId=query["assignmentId"][0])
    earned = client.get("/work/earnings").content.decode()
    assert "$1.10" in earned
    assert "Approved" in client.get("/work/history").content.decode()


def test_median_time_is_shown_when_known(local_client: Any, workers: list[Worker], browser: Browser) -> None:
    hit, _ = [local_client.create_hit(**hit_params(MaxAssignments=3))["HIT"] for _ in range(2)]
    client = browser(workers[0])
    first = client.get("/work/").content.decode()
    assert "$1.10" in first
    assert "Usual time" not in first
    assert "/h</small>" not in first
    for person in workers:
        slot = accept(person, hit)
        advance_time(minutes=6)
        submit_task(person, slot)
    cache.clear()  # it is looked up once a minute
    listing = " ".join(client.get("/work/").content.decode().split())
    assert "Usual time</dt> <dd>6 min</dd>" in listing
    assert "$11.00<small>/h</small>" in listing


def test_task_page_frames_https_and_the_hit_origin_only(
    local_client: Any, worker: Worker, browser: Browser
) -> None:
    slot = accept(worker, local_client.create_hit(**hit_params())["HIT"])
    page = browser(worker).get(f"/work/tasks/{slot.assignment_id}")
    policy = page["Content-Security-Policy"]
    assert "frame-src 'self' https: http://127.0.0.1:8000" in policy
    assert 'sandbox="allow-scripts allow-forms allow-same-origin allow-popups"' in page.content.decode()
    assert page["X-Frame-Options"] == "DENY"
    assert b"style=" not in page.content
    assert b"<script>" not in page.content


def test_continue_banner_and_double_start(local_client: Any, worker: Worker, browser: Browser) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    local_client.create_hit(**hit_params(MaxAssignments=1))
    client = browser(worker)
    first = client.post(f"/work/groups/{hit['HITTypeId']}/accept")
    again = client.post(f"/work/groups/{hit['HITTypeId']}/accept")
    assert first["Location"] == again["Location"]
    page = client.get("/work/").content.decode()
    assert "One task is still open" in page
    assert first["Location"] in page


def test_preview_without_tasks_left_shows_message(
    local_client: Any, worker: Worker, other: Worker, browser: Browser
) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    accept(other, hit)
    client = browser(worker)
    refused = client.post(f"/work/groups/{hit['HITTypeId']}/accept", follow=True)
    assert "No task of this kind is left for you right now." in refused.content.decode()
    assert "No work right now" in refused.content.decode()
    assert (
        "No task of this kind is left"
        in client.get(f"/work/groups/{hit['HITTypeId']}/preview").content.decode()
    )
    assert client.get("/work/groups/3NONE/preview").status_code == 404


@pytest.mark.rule(
    "slot-returned",
    source="I",
    text="A returned slot is offered again under the same AssignmentId.",
)
def test_returned_slot_is_offered_again(local_client: Any, worker: Worker, browser: Browser) -> None:
    slot = accept(worker, local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"])
    client = browser(worker)
    back = client.post(f"/work/tasks/{slot.assignment_id}/return", follow=True)
    assert "Task returned" in back.content.decode()
    slot.refresh_from_db()
    assert slot.state == SlotState.OPEN
    assert "You returned this task" in client.get(f"/work/tasks/{slot.assignment_id}").content.decode()
    again = client.post(f"/work/tasks/{slot.assignment_id}/return", follow=True)
    assert "nothing to return" in again.content.decode()
    assert "Returned" in client.get("/work/history").content.decode()


def test_rejection_shows_its_reason(local_client: Any, worker: Worker, browser: Browser) -> None:
    slot = work(worker, local_client.create_hit(**hit_params())["HIT"])
    local_client.reject_assignment(AssignmentId=slot.assignment_id, RequesterFeedback="Boxes lie <outside>.")
    page = browser(worker).get("/work/history").content.decode()
    assert "Rejected" in page
    assert "Boxes lie &lt;outside&gt;." in page


@pytest.mark.clock
def test_expired_task_shows_time_over_page(local_client: Any, worker: Worker, browser: Browser) -> None:
    slot = accept(worker, local_client.create_hit(**hit_params(AssignmentDurationInSeconds=60))["HIT"])
    advance_time(seconds=61)
    assert "ran out" in browser(worker).get(f"/work/tasks/{slot.assignment_id}").content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "/work/",
        "/work/history",
        "/work/earnings",
        "/work/qualifications",
        "/work/messages",
        "/work/groups/G/preview",
        "/work/tasks/T",
    ],
)
class TestWorkerPageAccess:
    def test_anonymous_is_sent_to_sign_in(self, transactional_db: None, path: str) -> None:
        answer = Client().get(path)
        assert answer.status_code == 302
        assert "/sign-in/" in answer["Location"]

    def test_non_worker_sees_explanation(self, transactional_db: None, path: str) -> None:
        user = get_user_model().objects.create_user("researcher", password="x")
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        answer = client.get(path)
        assert answer.status_code == 403
        assert "not as a worker" in answer.content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "/work/groups/{group}/accept",
        "/work/tasks/{slot}/return",
        "/work/tasks/{slot}/answer",
        "/work/country",
        "/work/adult",
    ],
)
def test_posts_need_a_worker_and_a_csrf_token(
    local_client: Any, worker: Worker, other: Worker, browser: Browser, path: str
) -> None:
    hit = local_client.create_hit(**hit_params())["HIT"]
    slot = accept(worker, hit)
    address = path.format(group=hit["HITTypeId"], slot=slot.assignment_id)
    assert Client().post(address).status_code == 302
    assert browser(worker).get(address).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(worker.user, backend="django.contrib.auth.backends.ModelBackend")
    assert strict.post(address).status_code == 403
    outsider = Client()
    outsider.force_login(
        get_user_model().objects.create_user("r"), backend="django.contrib.auth.backends.ModelBackend"
    )
    assert outsider.post(address).status_code == 403
    slot.refresh_from_db()
    assert slot.state == SlotState.PENDING


def test_another_workers_task_is_not_found_and_not_returnable(
    local_client: Any, worker: Worker, other: Worker, browser: Browser
) -> None:
    slot = accept(worker, local_client.create_hit(**hit_params())["HIT"])
    client = browser(other)
    assert client.get(f"/work/tasks/{slot.assignment_id}").status_code == 404
    client.post(f"/work/tasks/{slot.assignment_id}/return")
    slot.refresh_from_db()
    assert slot.worker == worker


def test_accounts_page_is_for_superusers(local_client: Any, worker: Worker, browser: Browser) -> None:
    address = "/marketplace/accounts/"
    assert Client().get(address).status_code == 302
    assert browser(worker).get(address).status_code == 403
    assert browser(worker).post(f"{address}1/deposit", {"amount": "5"}).status_code == 403
    admin = Client()
    admin.force_login(
        get_user_model().objects.create_superuser("root"), backend="django.contrib.auth.backends.ModelBackend"
    )
    hit = local_client.create_hit(**hit_params())["HIT"]
    work(worker, hit)
    page = admin.get(address).content.decode()
    assert "Abduction lab" in page
    assert "Every balance equals the sum" in page
    pk = Assignment.objects.first().hit.requester.pk  # type: ignore[union-attr]
    assert admin.post(f"{address}{pk}/deposit", {"amount": "12.5", "note": "grant"}).status_code == 302
    assert local_client.get_account_balance()["AvailableBalance"] == "10010.30"
    refused = admin.post(f"{address}{pk}/deposit", {"amount": "12.555"})
    assert refused.status_code == 400
    assert "whole cents" in refused.content.decode()
    assert admin.post(f"{address}{pk}/deposit", {"amount": "0"}).status_code == 400


class TestExternalSubmit:
    """Only the slot's current attempt may submit."""

    @pytest.mark.rule(
        "submit-present-attempt",
        source="ours",
        text="Only the slot's current attempt may submit: each accept has its own URL in turkSubmitTo, "
        "so that a returned worker's old tab cannot submit as the next worker.",
    )
    def test_old_tab_after_return_cannot_submit(
        self, local_client: Any, worker: Worker, other: Worker, browser: Browser
    ) -> None:
        hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
        slot = accept(worker, hit)
        old = secret_of(worker, slot)
        browser(worker).post(f"/work/tasks/{slot.assignment_id}/return")
        taken = accept(other, hit)
        assert taken.assignment_id == slot.assignment_id
        stale = Client().post(
            f"/a/{old}/mturk/externalSubmit", {"assignmentId": slot.assignment_id, "answer": "mine"}
        )
        assert stale.status_code == 409
        taken.refresh_from_db()
        assert (taken.state, taken.worker, taken.answer) == (SlotState.PENDING, other, "")
        assert submit_task(other, taken).worker == other

    @pytest.mark.rule(
        "slot-same-worker",
        source="I",
        text="A worker who returned a task may accept it again, with the same AssignmentId.",
    )
    def test_worker_may_take_returned_task_again(
        self, local_client: Any, worker: Worker, browser: Browser
    ) -> None:
        hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
        slot = accept(worker, hit)
        old = secret_of(worker, slot)
        browser(worker).post(f"/work/tasks/{slot.assignment_id}/return")
        again = accept(worker, hit)
        assert again.assignment_id == slot.assignment_id
        assert secret_of(worker, again) != old
        refused = Client().post(
            f"/a/{old}/mturk/externalSubmit", {"assignmentId": slot.assignment_id, "answer": "old"}
        )
        assert refused.status_code == 409
        submit_task(worker, again, answer="new")
        outcomes = list(Attempt.objects.order_by("pk").values_list("outcome", flat=True))
        assert outcomes == [Outcome.RETURNED, Outcome.SUBMITTED]

    def test_returned_task_is_offered_last(self, local_client: Any, worker: Worker, browser: Browser) -> None:
        hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
        local_client.create_hit(**hit_params(MaxAssignments=1))
        first = accept(worker, hit)
        browser(worker).post(f"/work/tasks/{first.assignment_id}/return")
        assert accept(worker, hit).hit_id != first.hit_id

    @pytest.mark.rule(
        "submit-repeated",
        source="ours",
        text="Submitting the same attempt again returns the first reply and changes nothing.",
    )
    def test_repeating_a_submission_changes_nothing(self, local_client: Any, worker: Worker) -> None:
        slot = accept(worker, local_client.create_hit(**hit_params())["HIT"])
        address = f"/a/{secret_of(worker, slot)}/mturk/externalSubmit"
        for text in ("first", "second"):
            answer = Client().post(address, {"assignmentId": slot.assignment_id, "answer": text})
            assert answer.status_code == 200
        slot.refresh_from_db()
        assert "first" in slot.answer
        assert "second" not in slot.answer

    @pytest.mark.clock
    @pytest.mark.rule(
        "submit-late",
        source="ours",
        text="A submission after the assignment's time is refused.",
    )
    def test_late_submission_is_refused(self, local_client: Any, worker: Worker) -> None:
        slot = accept(worker, local_client.create_hit(**hit_params(AssignmentDurationInSeconds=60))["HIT"])
        advance_time(seconds=61)
        answer = Client().post(
            f"/a/{secret_of(worker, slot)}/mturk/externalSubmit",
            {"assignmentId": slot.assignment_id, "answer": "late"},
        )
        assert answer.status_code == 409
        assert "ran out" in answer.content.decode()

    @pytest.mark.rule(
        "submit-needs-answers",
        source="D",
        text="A form needs the assignmentId and at least one other field; a preview cannot be submitted.",
    )
    @pytest.mark.parametrize(
        "form",
        [
            {},
            {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "answer": "x"},
            {"assignmentId": "{slot}"},
            {"assignmentId": "{slot}", "workerId": "A1", "hitId": "3", "turkSubmitTo": "x"},
        ],
    )
    def test_incomplete_forms_are_refused(
        self, local_client: Any, worker: Worker, form: dict[str, str]
    ) -> None:
        slot = accept(worker, local_client.create_hit(**hit_params())["HIT"])
        filled = {key: value.format(slot=slot.assignment_id) for key, value in form.items()}
        answer = Client().post(f"/a/{secret_of(worker, slot)}/mturk/externalSubmit", filled)
        assert answer.status_code == 409
        slot.refresh_from_db()
        assert slot.state == SlotState.PENDING

    @pytest.mark.rule(
        "submit-present-attempt",
        source="ours",
        text="Only the slot's current attempt may submit: each accept has its own URL in turkSubmitTo, "
        "so that a returned worker's old tab cannot submit as the next worker.",
    )
    def test_wrong_secret_and_secret_of_another_task(
        self, local_client: Any, worker: Worker, other: Worker
    ) -> None:
        hit = local_client.create_hit(**hit_params())["HIT"]
        mine, theirs = accept(worker, hit), accept(other, hit)
        for secret in ("0" * 64, secret_of(other, theirs)):
            answer = Client().post(
                f"/a/{secret}/mturk/externalSubmit", {"assignmentId": mine.assignment_id, "answer": "x"}
            )
            assert answer.status_code == 409

    @pytest.mark.rule(
        "submit-bare",
        source="ours",
        text="/mturk/externalSubmit without a secret accepts only the signed-in worker's own pending task.",
    )
    def test_bare_submit_url_accepts_signed_in_worker_only(
        self, local_client: Any, worker: Worker, other: Worker, browser: Browser
    ) -> None:
        slot = accept(worker, local_client.create_hit(**hit_params())["HIT"])
        form = {"assignmentId": slot.assignment_id, "answer": "x"}
        assert Client().post("/mturk/externalSubmit", form).status_code == 403
        assert browser(other).post("/mturk/externalSubmit", form).status_code == 409
        assert browser(worker).post("/mturk/externalSubmit", form).status_code == 200
        slot.refresh_from_db()
        assert slot.state == SlotState.SUBMITTED

    def test_secret_is_stored_nowhere(self, local_client: Any, worker: Worker) -> None:
        slot = accept(worker, local_client.create_hit(**hit_params())["HIT"])
        secret = secret_of(worker, slot)
        attempt = Attempt.objects.get()
        assert secret not in {attempt.nonce, attempt.secret_hash}


def test_no_log_line_names_a_worker(
    local_client: Any, worker: Worker, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    with caplog.at_level(logging.DEBUG):
        slot = work(worker, hit)
        local_client.approve_assignment(AssignmentId=slot.assignment_id)
        with pytest.raises(local_client.exceptions.RequestError):
            local_client.send_bonus(
                WorkerId="A" + "B" * 13, BonusAmount="1", AssignmentId=slot.assignment_id, Reason="r"
            )
        browser(worker).get("/work/")
    ours = [
        record.getMessage() for record in caplog.records if record.name.startswith(("hits", "django.request"))
    ]
    assert ours
    assert not [line for line in ours if worker.worker_id in line or "ABBB" in line]
