"""Requests for qualifications: terms of types, tests, decisions, through boto3 and services."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from hits.domain.mturk_formats.answer_xml import FormAnswer
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import (
    Clock,
    GrantStatus,
    Qualification,
    QualificationRequest,
    QualificationType,
    RequestState,
    Worker,
)
from hits.marketplace.selectors.qualification_overview import load_qualification_overview
from hits.marketplace.selectors.requestable import Availability, get_type_availability
from hits.marketplace.services import accounts, qualification_requests
from tests.hits.marketplace.support import Market, accept, advance_time, hit_params, work
from tests.hits.marketplace.test_conformance import code_of
from tests.hits.marketplace.test_qualifications import make_type
from tests.support.question_forms import (
    TEST,
    TEST_KEY,
    choice,
    form_xml,
    free_text,
    key_question,
    key_xml,
    question,
)
from tests.support.threads import together

RIGHT = [FormAnswer("sky", None, ("blue",)), FormAnswer("fruit", None, ("apple", "pear"))]
WRONG = [FormAnswer("sky", None, ("green",)), FormAnswer("fruit", None, ("apple",))]
WITH_TEST = {"Test": TEST, "TestDurationInSeconds": 600}
SCORED = WITH_TEST | {"AnswerKey": TEST_KEY}


def kind_of(type_id: str) -> QualificationType:
    return QualificationType.objects.get(type_id=type_id)


def ask(worker: Worker, type_id: str) -> QualificationRequest:
    return qualification_requests.request_qualification(
        worker=worker, qualification_type=kind_of(type_id), now=Clock.now()
    )


def submit_task(request: QualificationRequest, answers: list[FormAnswer]) -> QualificationRequest:
    return qualification_requests.submit_test(
        worker=request.worker, request_id=request.request_id, answers=answers, now=Clock.now()
    )


def availability(worker: Worker, type_id: str) -> Availability:
    return get_type_availability(worker, kind_of(type_id), Clock.now()).availability


def held(worker: Worker, type_id: str) -> int | None:
    row = Qualification.objects.filter(worker=worker, qualification_type__type_id=type_id).first()
    return row.value if row and row.status == GrantStatus.GRANTED else None


class TestQualificationTypes:
    @pytest.mark.rule(
        "type-shows-its-terms",
        source="M",
        text="A qualification type shows its test, key, times and automatic grant as they were given.",
    )
    def test_type_terms_round_trip(self, mturk: Any) -> None:
        scored = mturk.get_qualification_type(
            QualificationTypeId=make_type(mturk, "Scored", **SCORED, RetryDelayInSeconds=0)
        )["QualificationType"]
        assert (scored["Test"], scored["AnswerKey"]) == (TEST, TEST_KEY)
        assert (scored["TestDurationInSeconds"], scored["RetryDelayInSeconds"]) == (600, 0)
        assert (scored["AutoGranted"], scored["IsRequestable"]) == (False, True)
        given = mturk.get_qualification_type(
            QualificationTypeId=make_type(mturk, "Given", AutoGranted=True, AutoGrantedValue=-7)
        )["QualificationType"]
        assert (given["AutoGranted"], given["AutoGrantedValue"]) == (True, -7)
        plain = mturk.get_qualification_type(QualificationTypeId=make_type(mturk, "Plain"))[
            "QualificationType"
        ]
        assert not {"Test", "AnswerKey", "RetryDelayInSeconds", "AutoGrantedValue"} & plain.keys()

    @pytest.mark.rule(
        "type-terms-checked",
        source="M",
        text="Test needs TestDurationInSeconds and excludes AutoGranted; AnswerKey needs a Test; the "
        "duration alone is accepted.",
    )
    @pytest.mark.parametrize(
        ("params", "words"),
        [
            ({"Test": TEST}, "TestDurationInSeconds"),
            (WITH_TEST | {"TestDurationInSeconds": 0}, "TestDurationInSeconds"),
            (WITH_TEST | {"AutoGranted": True}, "AutoGranted cannot be true"),
            ({"AnswerKey": TEST_KEY}, "AnswerKey needs a Test"),
            ({"RetryDelayInSeconds": -1}, "RetryDelayInSeconds"),
            ({"AutoGranted": True, "AutoGrantedValue": 2**31}, "AutoGrantedValue"),
            (WITH_TEST | {"Test": "<QuestionForm"}, "Test: The QuestionForm is not plain XML"),
            (WITH_TEST | {"Test": hit_params()["Question"]}, "must be QuestionForm"),
            (WITH_TEST | {"Test": TEST + " " * 70_000 + "<!-- x -->"}, "65535"),
            (SCORED | {"AnswerKey": key_xml(key_question("sea", {"blue": 1}))}, "AnswerKey: .*'sea'"),
        ],
    )
    def test_contradictory_terms_are_refused(
        self, local_client: Any, params: dict[str, Any], words: str
    ) -> None:
        with pytest.raises(ClientError, match=words) as failure:
            make_type(local_client, **params)
        assert code_of(failure)[0] == "ParameterValidationError"
        assert local_client.list_qualification_types(MustBeRequestable=False)["NumResults"] == 0

    @pytest.mark.rule(
        "type-update",
        source="M",
        text="An update with a Test replaces test, duration and key; a retry delay can be changed, but "
        "not removed.",
    )
    def test_update_type_changes_given_terms(self, mturk: Any) -> None:
        type_id = make_type(mturk, **SCORED, RetryDelayInSeconds=60)
        other = form_xml(question("a", choice("x", "y")))

        def update(**params: Any) -> dict[str, Any]:
            reply = mturk.update_qualification_type(QualificationTypeId=type_id, **params)
            return dict(reply["QualificationType"])

        assert update(Description="New words.")["AnswerKey"] == TEST_KEY
        replaced = update(Test=other, TestDurationInSeconds=30)
        assert (replaced["Test"], replaced["TestDurationInSeconds"]) == (other, 30)
        assert "AnswerKey" not in replaced
        assert replaced["RetryDelayInSeconds"] == 60
        assert update(RetryDelayInSeconds=0)["RetryDelayInSeconds"] == 0
        for params in ({"AutoGranted": True}, {"AnswerKey": TEST_KEY}, {"Test": TEST}):
            with pytest.raises(ClientError) as failure:
                update(**params)
            assert code_of(failure)[0] == "ParameterValidationError"
        plain = make_type(mturk, "Plain", AutoGranted=True)
        with pytest.raises(ClientError):
            mturk.update_qualification_type(QualificationTypeId=plain, **WITH_TEST)
        mturk.update_qualification_type(QualificationTypeId=plain, **WITH_TEST, AutoGranted=False)

    @pytest.mark.rule(
        "type-delete",
        source="M",
        text="After DeleteQualificationType the type allows no new HIT, its name is free and pending "
        "requests are rejected; open HITs continue.",
    )
    def test_delete_type_rejects_pending_requests(self, mturk: Any, worker: Worker, other: Worker) -> None:
        type_id = make_type(mturk)
        asked = [{"QualificationTypeId": type_id, "Comparator": "Exists"}]
        hit = mturk.create_hit(**hit_params(QualificationRequirements=asked))["HIT"]
        mturk.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=worker.worker_id)
        waiting = ask(other, type_id)
        mturk.delete_qualification_type(QualificationTypeId=type_id)
        waiting.refresh_from_db()
        assert waiting.state == RequestState.REJECTED
        assert load_qualification_overview(worker, Clock.now()).held == []
        assert accept(worker, hit)
        same_type = {"HITTypeId": hit["HITTypeId"], "LifetimeInSeconds": 60, "Question": hit["Question"]}
        for call, params in (
            (mturk.get_qualification_type, {"QualificationTypeId": type_id}),
            (mturk.delete_qualification_type, {"QualificationTypeId": type_id}),
            (mturk.create_hit, hit_params(QualificationRequirements=asked)),
            (mturk.create_hit_with_hit_type, same_type),
        ):
            with pytest.raises(ClientError) as failure:
                call(**params)
            assert code_of(failure)[1] in {"QualificationTypeDoesNotExist", "InvalidQualificationTypeState"}
        assert make_type(mturk) != type_id
        assert mturk.list_qualification_types(MustBeRequestable=False)["NumResults"] == 1
        with pytest.raises(ActionRefused):
            ask(worker, type_id)

    @pytest.mark.rule(
        "type-requestable",
        source="ours",
        text="Workers may request any active type; the platform's pools only with a test or automatic grant.",
    )
    def test_platform_pools_accept_no_requests(self, local_market: Market, worker: Worker) -> None:
        own = local_market.client(accounts.create_key_pair(name=accounts.PLATFORM_NAME))
        pool = make_type(own)
        assert (
            own.get_qualification_type(QualificationTypeId=pool)["QualificationType"]["IsRequestable"]
            is False
        )
        with pytest.raises(ActionRefused):
            ask(worker, pool)
        tested = make_type(own, "Tested", **SCORED)
        assert ask(worker, tested).state == RequestState.TAKING

    @pytest.mark.rule(
        "hits-of-a-type",
        source="M",
        text="ListHITsForQualificationType lists the HITs that require a type, newest first, in pages.",
    )
    def test_hits_that_require_a_type(self, mturk: Any, market: Market) -> None:
        type_id, unused = make_type(mturk), make_type(mturk, "Unused")
        asked = [{"QualificationTypeId": type_id, "Comparator": "Exists"}]
        hits = [
            mturk.create_hit(**hit_params(QualificationRequirements=asked))["HIT"]["HITId"] for _ in range(3)
        ]
        mturk.create_hit(**hit_params())
        gone = hits.pop()
        mturk.update_expiration_for_hit(HITId=gone, ExpireAt=0)
        mturk.delete_hit(HITId=gone)
        pages = mturk.get_paginator("list_hits_for_qualification_type").paginate(
            QualificationTypeId=type_id, PaginationConfig={"PageSize": 1}
        )
        assert [row["HITId"] for page in pages for row in page["HITs"]] == hits[::-1]
        assert mturk.list_hits_for_qualification_type(QualificationTypeId=unused)["HITs"] == []
        theirs = market.client(accounts.create_key_pair(name="Other lab"))
        with pytest.raises(ClientError) as failure:
            theirs.list_hits_for_qualification_type(QualificationTypeId=type_id)
        assert code_of(failure)[1] == "QualificationTypeDoesNotExist"


class TestRequests:
    @pytest.mark.rule(
        "request-by-hand",
        source="M",
        text="A request without a key waits in ListQualificationRequests until AcceptQualificationRequest or "
        "RejectQualificationRequest decides it.",
    )
    def test_requests_wait_and_are_decided(self, mturk: Any, workers: list[Worker]) -> None:
        type_id, other_client = make_type(mturk), make_type(mturk, "Other")
        for person in workers:
            ask(person, type_id)
        ask(workers[0], other_client)
        pages = mturk.get_paginator("list_qualification_requests").paginate(
            QualificationTypeId=type_id, PaginationConfig={"PageSize": 2}
        )
        rows = [row for page in pages for row in page["QualificationRequests"]]
        assert [row["WorkerId"] for row in rows] == [person.worker_id for person in workers]
        assert {row["QualificationTypeId"] for row in rows} == {type_id}
        assert not {"Test", "Answer"} & rows[0].keys()
        assert mturk.list_qualification_requests()["NumResults"] == 4
        first, second, third = (row["QualificationRequestId"] for row in rows)
        mturk.accept_qualification_request(QualificationRequestId=first, IntegerValue=80)
        mturk.accept_qualification_request(QualificationRequestId=second)
        mturk.reject_qualification_request(QualificationRequestId=third, Reason="Not yet.")
        assert [held(person, type_id) for person in workers] == [80, 1, None]
        assert mturk.list_qualification_requests(QualificationTypeId=type_id)["NumResults"] == 0
        decide = (mturk.accept_qualification_request, mturk.reject_qualification_request)
        for call in decide:
            with pytest.raises(ClientError) as failure:
                call(QualificationRequestId=third)
            assert code_of(failure)[1] == "InvalidQualificationRequestState"
        assert held(workers[2], type_id) is None

    def test_another_requesters_requests_do_not_exist(
        self, market: Market, mturk: Any, worker: Worker
    ) -> None:
        waiting = ask(worker, make_type(mturk))
        theirs = market.client(accounts.create_key_pair(name="Other lab"))
        assert theirs.list_qualification_requests()["NumResults"] == 0
        for call in (theirs.accept_qualification_request, theirs.reject_qualification_request):
            for request_id in (waiting.request_id, "nonsense ☃"):
                with pytest.raises(ClientError) as failure:
                    call(QualificationRequestId=request_id)
                assert code_of(failure)[1] == "QualificationRequestDoesNotExist"
        waiting.refresh_from_db()
        assert waiting.state == RequestState.PENDING

    @pytest.mark.rule(
        "request-auto-granted",
        source="M",
        text="An auto-granted type is granted on request with AutoGrantedValue (default 1).",
    )
    def test_auto_granted_type_is_granted_on_request(self, local_client: Any, worker: Worker) -> None:
        given, valued = (
            make_type(local_client, "A", AutoGranted=True),
            make_type(local_client, "B", AutoGranted=True, AutoGrantedValue=9),
        )
        assert (ask(worker, given).state, ask(worker, valued).state) == (
            RequestState.GRANTED,
            RequestState.GRANTED,
        )
        assert (held(worker, given), held(worker, valued)) == (1, 9)
        assert local_client.list_qualification_requests()["NumResults"] == 0
        assert availability(worker, given) is Availability.HELD

    @pytest.mark.rule(
        "request-does-not-touch-grants",
        source="M",
        text="A grant does not change a pending request, and rejecting the request does not change the "
        "grant.",
    )
    def test_grant_leaves_pending_request_open(self, local_client: Any, worker: Worker) -> None:
        type_id = make_type(local_client)
        waiting = ask(worker, type_id)
        local_client.associate_qualification_with_worker(
            QualificationTypeId=type_id, WorkerId=worker.worker_id, IntegerValue=5
        )
        assert local_client.list_qualification_requests()["NumResults"] == 1
        local_client.reject_qualification_request(
            QualificationRequestId=waiting.request_id, Reason="Held already."
        )
        assert held(worker, type_id) == 5

    @pytest.mark.clock
    @pytest.mark.rule(
        "request-retry-delay",
        source="M",
        text="After RetryDelayInSeconds a worker may request again; without a delay they may request "
        "once, with any outcome.",
    )
    def test_retry_delay_limits_next_request(self, local_client: Any, worker: Worker) -> None:
        once, again = (
            make_type(local_client, "Once"),
            make_type(local_client, "Again", RetryDelayInSeconds=3600),
        )
        for type_id in (once, again):
            local_client.reject_qualification_request(
                QualificationRequestId=ask(worker, type_id).request_id, Reason="No."
            )
        assert availability(worker, once) is Availability.CLOSED
        assert availability(worker, again) is Availability.LATER
        advance_time(minutes=59)
        with pytest.raises(ActionRefused):
            ask(worker, again)
        advance_time(minutes=2)
        assert ask(worker, again).state == RequestState.PENDING
        advance_time(days=300)
        with pytest.raises(ActionRefused):
            ask(worker, once)

    @pytest.mark.clock
    @pytest.mark.rule(
        "request-after-revocation",
        source="ours",
        text="A revoked qualification can be requested again after the retry delay from the "
        "revocation, and never without one.",
    )
    def test_retry_delay_starts_at_revocation(self, local_client: Any, worker: Worker) -> None:
        once, again = (
            make_type(local_client, "Once"),
            make_type(local_client, "Again", RetryDelayInSeconds=3600),
        )
        for type_id in (once, again):
            here = {"QualificationTypeId": type_id, "WorkerId": worker.worker_id}
            local_client.associate_qualification_with_worker(**here)
            assert availability(worker, type_id) is Availability.HELD
            local_client.disassociate_qualification_from_worker(**here, Reason="Unused.")
        assert availability(worker, once) is Availability.CLOSED
        assert availability(worker, again) is Availability.LATER
        advance_time(hours=2)
        assert availability(worker, once) is Availability.CLOSED
        local_client.accept_qualification_request(
            QualificationRequestId=ask(worker, again).request_id, IntegerValue=3
        )
        assert held(worker, again) == 3

    def test_blocked_worker_and_inactive_type_cannot_request(
        self, local_client: Any, worker: Worker, other: Worker
    ) -> None:
        type_id = make_type(local_client)
        local_client.create_worker_block(WorkerId=worker.worker_id, Reason="Copied.")
        assert availability(worker, type_id) is Availability.BLOCKED
        with pytest.raises(ActionRefused):
            ask(worker, type_id)
        local_client.update_qualification_type(
            QualificationTypeId=type_id, QualificationTypeStatus="Inactive"
        )
        with pytest.raises(ActionRefused):
            ask(other, type_id)

    def test_double_click_creates_one_request(self, local_client: Any, worker: Worker) -> None:
        type_id = make_type(local_client)
        results = together([lambda: ask(worker, type_id)] * 4)
        assert len({row.pk for row in results}) == 1

    def test_concurrent_accept_and_reject_decide_once(
        self, local_market: Market, requester: accounts.KeyPair, worker: Worker
    ) -> None:
        clients = [local_market.client(requester) for _ in range(2)]
        type_id = make_type(clients[0])
        request_id = ask(worker, type_id).request_id
        results = together(
            [
                lambda: clients[0].accept_qualification_request(QualificationRequestId=request_id),
                lambda: clients[1].reject_qualification_request(QualificationRequestId=request_id),
            ]
        )
        assert sum(isinstance(result, dict) for result in results) == 1
        granted = QualificationRequest.objects.get().state == RequestState.GRANTED
        assert (held(worker, type_id) == 1) is granted


class TestQualificationTests:
    @pytest.mark.rule(
        "test-scored-at-once",
        source="M",
        text="A test with an AnswerKey is scored and granted when it is submitted.",
    )
    def test_test_with_answer_key_is_scored_at_once(
        self, local_client: Any, worker: Worker, other: Worker
    ) -> None:
        type_id = make_type(local_client, **SCORED)
        asked = [
            {"QualificationTypeId": type_id, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [80]}
        ]
        hit = local_client.create_hit(**hit_params(QualificationRequirements=asked))["HIT"]
        assert submit_task(ask(worker, type_id), RIGHT).score == 100
        assert submit_task(ask(other, type_id), WRONG).score == 10
        assert (held(worker, type_id), held(other, type_id)) == (100, 10)
        assert work(worker, hit)
        with pytest.raises(ActionRefused, match="You hold it at 10"):
            accept(other, hit)

    @pytest.mark.rule(
        "test-by-hand",
        source="M",
        text="A test without a key waits with its questions and answers for the requester.",
    )
    def test_test_without_answer_key_waits_for_requester(self, mturk: Any, worker: Worker) -> None:
        asked = form_xml(question("why", free_text()), question("which", choice("a", "b", most=2)))
        type_id = make_type(mturk, Test=asked, TestDurationInSeconds=60)
        request = ask(worker, type_id)
        assert mturk.list_qualification_requests()["NumResults"] == 0
        with pytest.raises(ClientError) as failure:
            mturk.accept_qualification_request(QualificationRequestId=request.request_id)
        assert code_of(failure)[1] == "QualificationRequestDoesNotExist"
        submit_task(request, [FormAnswer("why", 'It\'s "so" & <so>'), FormAnswer("which", None, ("a", "b"))])
        (row,) = mturk.list_qualification_requests()["QualificationRequests"]
        assert row["Test"] == asked
        assert '<FreeText>It\'s "so" &amp; &lt;so&gt;</FreeText>' in row["Answer"]
        assert "<SelectionIdentifier>a</SelectionIdentifier><SelectionIdentifier>b<" in row["Answer"]
        mturk.accept_qualification_request(
            QualificationRequestId=row["QualificationRequestId"], IntegerValue=42
        )
        assert held(worker, type_id) == 42

    @pytest.mark.clock
    @pytest.mark.rule(
        "test-time",
        source="M",
        text="Answers after TestDurationInSeconds do not count; the time starts with the request.",
    )
    def test_late_answers_are_not_counted(self, local_client: Any, worker: Worker, other: Worker) -> None:
        type_id = make_type(local_client, **SCORED, RetryDelayInSeconds=3600)
        late, early = ask(worker, type_id), ask(other, type_id)
        advance_time(minutes=9)  # of ten: the true clock runs on too, and a busy machine may take its time
        assert ask(worker, type_id).pk == late.pk
        assert submit_task(early, RIGHT).state == RequestState.GRANTED
        advance_time(minutes=1)
        assert submit_task(late, RIGHT).state == RequestState.EXPIRED
        assert held(worker, type_id) is None
        assert availability(worker, type_id) is Availability.LATER
        advance_time(hours=1)
        assert submit_task(ask(worker, type_id), RIGHT).state == RequestState.GRANTED

    def test_second_submission_of_test_keeps_first(self, local_client: Any, worker: Worker) -> None:
        type_id = make_type(local_client, **SCORED)
        request = ask(worker, type_id)
        results = together([lambda: submit_task(request, RIGHT), lambda: submit_task(request, RIGHT)])
        assert {row.score for row in results} == {100}
        assert submit_task(request, WRONG).score == 100
        assert held(worker, type_id) == 100

    def test_retake_may_improve_score(self, local_client: Any, worker: Worker) -> None:
        type_id = make_type(local_client, **SCORED, RetryDelayInSeconds=60)
        submit_task(ask(worker, type_id), WRONG)
        assert availability(worker, type_id) is Availability.LATER
        advance_time(seconds=61)
        submit_task(ask(worker, type_id), RIGHT)
        assert held(worker, type_id) == 100

    def test_replaced_test_is_decided_by_requester(self, local_client: Any, worker: Worker) -> None:
        type_id = make_type(local_client, **SCORED)
        request = ask(worker, type_id)
        other = form_xml(question("sky", choice("blue", "red")))
        key = key_xml(key_question("sky", {"blue": 1}))
        local_client.update_qualification_type(
            QualificationTypeId=type_id, Test=other, TestDurationInSeconds=60, AnswerKey=key
        )
        assert submit_task(request, RIGHT).state == RequestState.PENDING
        (row,) = local_client.list_qualification_requests()["QualificationRequests"]
        assert row["Test"] == TEST

    def test_foreign_test_cannot_be_submitted(self, local_client: Any, worker: Worker, other: Worker) -> None:
        request = ask(worker, make_type(local_client, **SCORED))
        with pytest.raises(ActionRefused):
            qualification_requests.submit_test(
                worker=other, request_id=request.request_id, answers=RIGHT, now=Clock.now()
            )
