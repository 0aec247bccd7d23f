"""The API through boto3, in process and over HTTP."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.test import Client

from hits.domain.mturk_formats.answer_xml import parse_answer
from hits.marketplace.models import Clock, QualificationType, Worker
from hits.marketplace.operations import registry
from hits.marketplace.services import qualification_requests
from hits.marketplace.shapes import service_model
from tests.hits.marketplace.support import FUNDS, accept, advance_time, hit_params, secret_of, work


def code_of(failure: pytest.ExceptionInfo[ClientError]) -> tuple[str, str]:
    """Return exception name and TurkErrorCode.

    botocore reads the TurkErrorCode of modelled exceptions only, so that of a ParameterValidationError is
    empty here although it is on the wire.
    """
    reply = failure.value.response
    return reply["Error"]["Code"], reply.get("TurkErrorCode", "").removeprefix("AWS.MechanicalTurk.")


@pytest.mark.rule(
    "cycle",
    source="D",
    text="A HIT goes from CreateHIT through ListAssignmentsForHIT, GetAssignment and ApproveAssignment "
    "to DeleteHIT; GetHIT then shows it as Disposed.",
)
@pytest.mark.rule(
    "balance-after-approval",
    source="D",
    text="GetAccountBalance shows the balance after an approval.",
)
def test_full_cycle_from_hit_to_payment(mturk: Any, worker: Worker) -> None:
    hit = mturk.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    assert hit["HITStatus"] == "Assignable"
    assert hit["Reward"] == "1.10"
    slot = work(worker, hit, submission_id="41", note="a < b & c > d \u2603")
    got = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    assert [row["AssignmentId"] for row in got] == [slot.assignment_id]
    assert got[0]["WorkerId"] == worker.worker_id
    assert parse_answer(got[0]["Answer"]) == {"submission_id": "41", "note": "a < b & c > d \u2603"}
    assert got[0]["SubmitTime"].tzinfo is not None
    mturk.approve_assignment(AssignmentId=slot.assignment_id, RequesterFeedback="Thank you")
    decided = mturk.get_assignment(AssignmentId=slot.assignment_id)
    assert decided["Assignment"]["AssignmentStatus"] == "Approved"
    assert decided["Assignment"]["RequesterFeedback"] == "Thank you"
    assert decided["HIT"]["NumberOfAssignmentsCompleted"] == 1
    assert mturk.get_account_balance()["AvailableBalance"] == f"{(FUNDS - 110) / 100:.2f}"
    mturk.delete_hit(HITId=hit["HITId"])
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Disposed"


@pytest.mark.rule(
    "long-answer",
    source="ours",
    text="ListAssignmentsForHIT and GetAssignment return an answer of 60 KB unchanged, as "
    "externalSubmit received it.",
)
def test_answer_of_60_kb_comes_back_unchanged(mturk: Any, worker: Worker) -> None:
    hit = mturk.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    slot = accept(worker, hit)
    line = 'a < b && c > d ]]> "Bär" \u2603 \U0001f98c\n'
    text = (line * (60 * 1024 // len(line.encode()) + 1)).strip()
    assert len(text.encode()) > 60_000
    form = {"assignmentId": slot.assignment_id, "note": text, "last": "<end/>"}
    assert Client().post(f"/a/{secret_of(worker, slot)}/mturk/externalSubmit", form).status_code == 200
    (listed,) = mturk.list_assignments_for_hit(HITId=hit["HITId"])["Assignments"]
    got = mturk.get_assignment(AssignmentId=slot.assignment_id)["Assignment"]
    for row in (listed, got):
        assert parse_answer(row["Answer"]) == {"note": text, "last": "<end/>"}


@pytest.mark.rule(
    "hit-type-equality",
    source="M",
    text="CreateHITType, CreateHIT and CreateHITWithHITType: equal values give one HITTypeId.",
)
def test_equal_values_give_the_same_hit_type(mturk: Any) -> None:
    values = {
        key: value
        for key, value in hit_params().items()
        if key not in {"LifetimeInSeconds", "MaxAssignments", "Question"}
    }
    first = mturk.create_hit_type(**values)["HITTypeId"]
    assert mturk.create_hit_type(**values)["HITTypeId"] == first
    assert mturk.create_hit_type(**{**values, "Reward": "1.1"})["HITTypeId"] == first
    assert mturk.create_hit_type(**{**values, "Reward": "1.11"})["HITTypeId"] != first
    assert mturk.create_hit(**hit_params())["HIT"]["HITTypeId"] == first
    by_type = mturk.create_hit_with_hit_type(
        HITTypeId=first, LifetimeInSeconds=60, Question=hit_params()["Question"]
    )["HIT"]
    assert (by_type["HITTypeId"], by_type["MaxAssignments"]) == (first, 1)


@pytest.mark.rule(
    "token-repeated",
    source="D",
    text="A token repeated within 24 hours creates nothing: HITAlreadyExists, with the HITId.",
)
def test_repeated_request_token_creates_no_second_hit(mturk: Any) -> None:
    hit = mturk.create_hit(**hit_params(UniqueRequestToken="t" * 64))["HIT"]
    with pytest.raises(ClientError) as failure:
        mturk.create_hit(**hit_params(UniqueRequestToken="t" * 64))
    assert code_of(failure) == ("RequestError", "HITAlreadyExists")
    assert hit["HITId"] in failure.value.response["Error"]["Message"]
    assert len(mturk.list_hits()["HITs"]) == 1


@pytest.mark.rule(
    "error-envelope",
    source="I",
    text="An error is HTTP 400 with __type, Message (ending with the time in ms) and TurkErrorCode.",
)
def test_error_envelope(mturk: Any) -> None:
    with pytest.raises(mturk.exceptions.RequestError) as failure:
        mturk.get_hit(HITId="3NOSUCHHIT")
    reply = failure.value.response
    assert reply["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert reply["ResponseMetadata"]["RequestId"]
    assert reply["TurkErrorCode"] == "AWS.MechanicalTurk.HITDoesNotExist"
    message, _, tag = reply["Error"]["Message"].rpartition(" ")
    assert message == "Hit 3NOSUCHHIT does not exist."
    assert tag.strip("()").isdigit()


@pytest.mark.rule(
    "create-hit-limits",
    source="D",
    text="Title 128, description 2000, keywords 1000, annotation 255 ASCII, 30 seconds to a year.",
)
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Reward": "$0.45"}, "ParameterValidationError"),
        ({"Reward": "0.455"}, "ParameterValidationError"),
        ({"Title": "t" * 129}, "ParameterValidationError"),
        ({"Title": ""}, "ParameterValidationError"),
        ({"Description": "d" * 2001}, "ParameterValidationError"),
        ({"Keywords": "k" * 1001}, "ParameterValidationError"),
        ({"AssignmentDurationInSeconds": 29}, "ParameterValidationError"),
        ({"AutoApprovalDelayInSeconds": 2_592_001}, "ParameterValidationError"),
        ({"LifetimeInSeconds": 29}, "ParameterValidationError"),
        ({"MaxAssignments": 0}, "ParameterValidationError"),
        ({"RequesterAnnotation": "a" * 256}, "ParameterValidationError"),
        ({"UniqueRequestToken": "u" * 65}, "ParameterValidationError"),
        ({"Question": "<a"}, "ParameterValidationError"),
        ({"Question": "<a/>"}, "ParameterValidationError"),
        ({"Question": ""}, "MissingParameter"),
        (
            {"QualificationRequirements": [{"QualificationTypeId": "A", "Comparator": "Exists"}]},
            "QualificationTypeDoesNotExist",
        ),
        ({"RequesterAnnotation": "naïve"}, "ParameterValidationError"),
        ({"HITLayoutId": "L1"}, "ParameterValidationError"),
        ({"Question": "", "HITLayoutId": "L1"}, "HITLayoutDoesNotExist"),
        ({"HITLayoutParameters": [{"Name": "a", "Value": "b"}]}, "ParameterValidationError"),
        ({"AssignmentReviewPolicy": {"PolicyName": "ScoreMyKnownAnswers/2011-09-01"}}, "NotImplemented"),
        ({"HITReviewPolicy": {"PolicyName": "SimplePlurality/2011-09-01"}}, "NotImplemented"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_parameters_are_named_and_create_nothing(
    local_client: Any, change: dict[str, Any], code: str
) -> None:
    with pytest.raises(ClientError) as failure:
        local_client.create_hit(**hit_params(**change))
    assert code in code_of(failure)
    assert local_client.list_hits()["HITs"] == []
    assert local_client.get_account_balance()["OnHoldBalance"] == "0.00"


@pytest.mark.rule(
    "pages",
    source="X",
    text="ListHITs and the other lists return 10 rows by default, with a NextToken while there are rows.",
)
def test_pages_have_ten_rows_by_default_and_end_with_empty_page(mturk: Any) -> None:
    for _ in range(25):
        mturk.create_hit(**hit_params(MaxAssignments=1))
    assert mturk.list_hits()["NumResults"] == 10
    pages = list(mturk.get_paginator("list_hits").paginate())
    assert [page["NumResults"] for page in pages] == [10, 10, 5, 0]
    assert "NextToken" not in pages[-1]
    ids = [hit["HITId"] for page in pages for hit in page["HITs"]]
    assert len(set(ids)) == 25


def _three_of_each(client: Any, workers: list[Worker]) -> dict[str, tuple[str, dict[str, str]]]:
    """Make three rows for every list, and return the key of its rows and how each list is asked for them."""
    expected = {"Description": "Needed.", "QualificationTypeStatus": "Active"}
    type_ids = [
        client.create_qualification_type(Name=f"Type {number}", **expected)["QualificationType"][
            "QualificationTypeId"
        ]
        for number in range(3)
    ]
    held = type_ids[0]
    requirement = {"QualificationTypeId": held, "Comparator": "Exists"}
    for person in workers:
        qualification_requests.request_qualification(
            worker=person,
            qualification_type=QualificationType.objects.get(type_id=type_ids[1]),
            now=Clock.now(),
        )
        client.associate_qualification_with_worker(QualificationTypeId=held, WorkerId=person.worker_id)
    hit = client.create_hit(**hit_params(MaxAssignments=3, QualificationRequirements=[requirement]))["HIT"]
    for person in workers:
        slot = work(person, hit)
        client.send_bonus(
            WorkerId=person.worker_id, AssignmentId=slot.assignment_id, BonusAmount="0.10", Reason="Care"
        )
    for number in range(2):
        single = hit_params(Title=f"Task {number}", MaxAssignments=1, QualificationRequirements=[requirement])
        work(workers[number], client.create_hit(**single)["HIT"])
    for person in workers:
        client.create_worker_block(WorkerId=person.worker_id, Reason="Why")
    named = {"HITId": hit["HITId"]}
    return {
        "list_assignments_for_hit": ("Assignments", named),
        "list_bonus_payments": ("BonusPayments", named),
        "list_hits": ("HITs", {}),
        "list_hits_for_qualification_type": ("HITs", {"QualificationTypeId": held}),
        "list_qualification_requests": ("QualificationRequests", {}),
        "list_qualification_types": ("QualificationTypes", {"MustBeRequestable": False}),
        "list_reviewable_hits": ("HITs", {}),
        "list_worker_blocks": ("WorkerBlocks", {}),
        "list_workers_with_qualification_type": ("Qualifications", {"QualificationTypeId": held}),
    }


@pytest.mark.rule(
    "pages-of-every-list",
    source="M",
    text="Nine lists have pages that boto3's paginators read to the end, each row once: "
    "ListAssignmentsForHIT, ListBonusPayments, ListHITs, ListHITsForQualificationType, "
    "ListQualificationRequests, ListQualificationTypes, ListReviewableHITs, ListWorkerBlocks, "
    "ListWorkersWithQualificationType.",
)
def test_every_list_operation_pages_to_its_end(local_client: Any, workers: list[Worker]) -> None:
    lists = _three_of_each(local_client, workers)
    assert {
        name for name in dir(local_client) if name.startswith("list_") and local_client.can_paginate(name)
    } == set(lists)
    for name, (key, asked) in lists.items():
        at_once = getattr(local_client, name)(**asked)[key]
        assert len(at_once) == 3, name
        pages = list(local_client.get_paginator(name).paginate(**asked, MaxResults=2))
        assert [len(page[key]) for page in pages] == [2, 1, 0], name
        assert [row for page in pages for row in page[key]] == at_once, name


@pytest.mark.rule(
    "next-token",
    source="ours",
    text="A NextToken is valid for one operation (ListHITs, ListReviewableHITs …) with one set of filters.",
)
def test_foreign_or_broken_next_token_is_refused(local_client: Any) -> None:
    local_client.create_hit(**hit_params())
    token = local_client.list_hits()["NextToken"]
    for call, kwargs in (
        (local_client.list_hits, {"NextToken": "rubbish"}),
        (local_client.list_hits, {"NextToken": "W10="}),
        (local_client.list_reviewable_hits, {"NextToken": token}),
    ):
        with pytest.raises(ClientError) as failure:
            call(**kwargs)
        assert code_of(failure)[0] == "ParameterValidationError"


@pytest.mark.rule(
    "expiration-past-and-future",
    source="M",
    text="UpdateExpirationForHIT with a past time expires a HIT immediately; with a later time the HIT "
    "is on offer again.",
)
def test_expire_now_and_extend(mturk: Any) -> None:
    hit_id = mturk.create_hit(**hit_params())["HIT"]["HITId"]
    mturk.update_expiration_for_hit(HITId=hit_id, ExpireAt=datetime.now(UTC) - timedelta(days=1))
    hit = mturk.get_hit(HITId=hit_id)["HIT"]
    assert (hit["HITStatus"], hit["NumberOfAssignmentsAvailable"]) == ("Reviewable", 2)
    until = (datetime.now(UTC) + timedelta(hours=2)).replace(microsecond=0)
    mturk.update_expiration_for_hit(HITId=hit_id, ExpireAt=until)
    extended = mturk.get_hit(HITId=hit_id)["HIT"]
    assert extended["HITStatus"] == "Assignable"
    assert extended["Expiration"] == until


@pytest.mark.rule(
    "expiration-increment",
    source="I",
    text="An extension adds 60 seconds to 365 days.",
)
@pytest.mark.parametrize("seconds", [11, -80_295, 31_536_001])
def test_extension_increment_has_limits(local_client: Any, seconds: int) -> None:
    hit = local_client.create_hit(**hit_params(LifetimeInSeconds=100_000))["HIT"]
    with pytest.raises(ClientError) as failure:
        local_client.update_expiration_for_hit(
            HITId=hit["HITId"], ExpireAt=hit["Expiration"] + timedelta(seconds=seconds)
        )
    assert code_of(failure)[0] == "ParameterValidationError"
    assert f"{seconds}" in failure.value.response["Error"]["Message"]


@pytest.mark.rule(
    "expiration-repeated",
    source="I",
    text="The same UpdateExpirationForHIT sent twice gets the error of a processed idempotency token.",
)
def test_repeated_extension_changes_nothing(local_client: Any) -> None:
    hit_id = local_client.create_hit(**hit_params())["HIT"]["HITId"]
    until = (datetime.now(UTC) + timedelta(hours=5)).replace(microsecond=0)
    local_client.update_expiration_for_hit(HITId=hit_id, ExpireAt=until)
    with pytest.raises(ClientError) as failure:
        local_client.update_expiration_for_hit(HITId=hit_id, ExpireAt=until)
    assert "already been processed" in failure.value.response["Error"]["Message"]
    assert local_client.get_hit(HITId=hit_id)["HIT"]["Expiration"] == until


@pytest.mark.rule(
    "rejection",
    source="I",
    text="RejectAssignment releases the held money, does not offer the slot again, and decides once.",
)
def test_second_rejection_is_refused_and_first_releases_money(mturk: Any, worker: Worker) -> None:
    hit = mturk.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    slot = work(worker, hit)
    mturk.reject_assignment(AssignmentId=slot.assignment_id, RequesterFeedback="The boxes are empty.")
    assert mturk.get_account_balance()["OnHoldBalance"] == "0.00"
    listed = mturk.get_hit(HITId=hit["HITId"])["HIT"]
    assert (listed["HITStatus"], listed["NumberOfAssignmentsAvailable"]) == ("Reviewable", 0)
    for call in (mturk.approve_assignment, mturk.reject_assignment):
        extra = {"RequesterFeedback": "again"}
        with pytest.raises(ClientError) as failure:
            call(AssignmentId=slot.assignment_id, **extra)
        assert code_of(failure) == ("RequestError", "InvalidAssignmentState")
        assert "status of: Submitted" in failure.value.response["Error"]["Message"]


@pytest.mark.rule(
    "rejection-reason",
    source="ours",
    text="RejectAssignment accepts an empty RequesterFeedback, and SendBonus an empty Reason, as "
    "psiTurk sends them.",
)
@pytest.mark.parametrize("feedback", ["", " \n"])
def test_rejection_without_reason_is_accepted(local_client: Any, worker: Worker, feedback: str) -> None:
    slot = work(worker, local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"])
    local_client.reject_assignment(AssignmentId=slot.assignment_id, RequesterFeedback=feedback)
    local_client.send_bonus(
        WorkerId=worker.worker_id, AssignmentId=slot.assignment_id, BonusAmount="0.10", Reason=""
    )
    slot.refresh_from_db()
    assert slot.state == "rejected"


@pytest.mark.clock
@pytest.mark.rule(
    "override-rejection-30-days",
    source="D",
    text="ApproveAssignment with OverrideRejection works within 30 days of the submission.",
)
@pytest.mark.parametrize(("days", "allowed"), [(29, True), (31, False)])
def test_rejection_can_be_overridden_within_30_days(
    local_client: Any, worker: Worker, days: int, allowed: bool
) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    slot = work(worker, hit)
    local_client.reject_assignment(AssignmentId=slot.assignment_id, RequesterFeedback="No.")
    advance_time(days=days)
    if not allowed:
        with pytest.raises(ClientError) as failure:
            local_client.approve_assignment(AssignmentId=slot.assignment_id, OverrideRejection=True)
        assert code_of(failure)[1] == "InvalidAssignmentState"
        return
    local_client.approve_assignment(AssignmentId=slot.assignment_id, OverrideRejection=True)
    after = local_client.get_assignment(AssignmentId=slot.assignment_id)["Assignment"]
    assert after["AssignmentStatus"] == "Approved"
    assert "RejectionTime" not in after
    assert local_client.get_account_balance() | {"ResponseMetadata": None} == {
        "AvailableBalance": f"{(FUNDS - 110) / 100:.2f}",
        "OnHoldBalance": "0.00",
        "ResponseMetadata": None,
    }


@pytest.mark.rule(
    "bonus-of-an-assignment",
    source="M",
    text="SendBonus pays the worker who submitted, once per token; ListBonusPayments shows it.",
)
def test_bonus_is_paid_once_per_token(mturk: Any, worker: Worker, other: Worker) -> None:
    hit = mturk.create_hit(**hit_params())["HIT"]
    slot = work(worker, hit)
    bonus = {
        "WorkerId": worker.worker_id,
        "AssignmentId": slot.assignment_id,
        "BonusAmount": "0.15",
        "Reason": "Two more observations",
        "UniqueRequestToken": "b1",
    }
    mturk.send_bonus(**bonus)
    with pytest.raises(ClientError) as failure:
        mturk.send_bonus(**bonus)
    assert "already been processed" in failure.value.response["Error"]["Message"]
    with pytest.raises(ClientError) as failure:
        mturk.send_bonus(**{**bonus, "UniqueRequestToken": "b2", "WorkerId": other.worker_id})
    assert code_of(failure)[1] == "InvalidWorkerForAssignment"
    for named in ({"HITId": hit["HITId"]}, {"AssignmentId": slot.assignment_id}):
        paid = mturk.list_bonus_payments(**named)["BonusPayments"]
        assert [(row["BonusAmount"], row["Reason"]) for row in paid] == [("0.15", "Two more observations")]
    with pytest.raises(ClientError):
        mturk.list_bonus_payments()


@pytest.mark.rule(
    "delete-hit",
    source="I",
    text="DeleteHIT accepts a Reviewable or Reviewing HIT whose submissions are all decided.",
)
def test_delete_hit_with_undecided_work_gives_amazons_error(mturk: Any, worker: Worker) -> None:
    hit = mturk.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    with pytest.raises(ClientError) as failure:
        mturk.delete_hit(HITId=hit["HITId"])
    assert "state 'Assignable'" in failure.value.response["Error"]["Message"]
    slot = work(worker, hit)
    with pytest.raises(ClientError) as failure:
        mturk.delete_hit(HITId=hit["HITId"])
    message = failure.value.response["Error"]["Message"]
    assert "state 'Reviewable'" in message
    assert "status of: Reviewing, Reviewable" in message
    mturk.approve_assignment(AssignmentId=slot.assignment_id)
    mturk.delete_hit(HITId=hit["HITId"])
    assert mturk.list_hits()["HITs"] == []


@pytest.mark.rule(
    "review-status",
    source="M",
    text="UpdateHITReviewStatus moves a HIT from Reviewable to Reviewing, and back with Revert.",
)
@pytest.mark.rule(
    "reviewable-hits",
    source="M",
    text="ListReviewableHITs lists Reviewable HITs, or Reviewing ones with Status, optionally of one "
    "HITTypeId.",
)
def test_review_status_moves_both_ways(local_client: Any, worker: Worker) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    work(worker, hit)
    assert [row["HITId"] for row in local_client.list_reviewable_hits()["HITs"]] == [hit["HITId"]]
    local_client.update_hit_review_status(HITId=hit["HITId"])
    assert local_client.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Reviewing"
    assert local_client.list_reviewable_hits()["HITs"] == []
    asked = {"Status": "Reviewing", "HITTypeId": hit["HITTypeId"]}
    assert [row["HITId"] for row in local_client.list_reviewable_hits(**asked)["HITs"]] == [hit["HITId"]]
    another = local_client.create_hit(**hit_params(Title="Another group"))["HIT"]["HITTypeId"]
    assert local_client.list_reviewable_hits(**asked | {"HITTypeId": another})["HITs"] == []
    local_client.update_hit_review_status(HITId=hit["HITId"], Revert=True)
    assert local_client.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Reviewable"


@pytest.mark.rule(
    "refused-file-upload",
    source="D",
    text="GetFileUploadURL: FileUploadAnswer was withdrawn; workers upload to the requester's own page "
    "(ExternalQuestion).",
)
def test_file_upload_url_is_not_served(mturk: Any) -> None:
    with pytest.raises(ClientError) as failure:
        mturk.get_file_upload_url(AssignmentId="3A", QuestionIdentifier="q")
    assert code_of(failure)[1] == "NotImplemented"
    assert "GetFileUploadURL" in failure.value.response["Error"]["Message"]


@pytest.mark.rule(
    "refused-review-policies",
    source="ours",
    text="Review policies are refused in CreateHIT and CreateHITWithHITType: decide with your own "
    "script; ListReviewPolicyResultsForHIT returns no results.",
)
def test_review_policies_are_refused_and_have_no_results(mturk: Any) -> None:
    type_id = mturk.create_hit(**hit_params())["HIT"]["HITTypeId"]
    by_type = {"HITTypeId": type_id, "LifetimeInSeconds": 60, "Question": hit_params()["Question"]}
    for policy in (
        {"AssignmentReviewPolicy": {"PolicyName": "ScoreMyKnownAnswers/2011-09-01"}},
        {"HITReviewPolicy": {"PolicyName": "SimplePlurality/2011-09-01"}},
    ):
        for create, params in (
            (mturk.create_hit, hit_params()),
            (mturk.create_hit_with_hit_type, by_type),
        ):
            with pytest.raises(ClientError) as failure:
                create(**params, **policy)
            assert code_of(failure)[1] == "NotImplemented"
            assert next(iter(policy)) in failure.value.response["Error"]["Message"]
    assert len(mturk.list_hits()["HITs"]) == 1
    hit = mturk.create_hit(**hit_params())["HIT"]
    results = mturk.list_review_policy_results_for_hit(HITId=hit["HITId"])
    assert {name for name in results if name != "ResponseMetadata"} == {"HITId"}
    with pytest.raises(ClientError) as failure:
        mturk.list_review_policy_results_for_hit(HITId="3NOSUCHHIT")
    assert code_of(failure)[1] == "HITDoesNotExist"


@pytest.mark.rule(
    "all-operations", source="M", text="All 39 operations of the model of 2017-01-17 are answered."
)
def test_every_operation_of_the_model_is_served() -> None:
    assert sorted(registry._HANDLERS) == sorted(service_model().operation_names)
    assert len(sorted(registry._HANDLERS)) == 39


@pytest.mark.rule(
    "annotation",
    source="M",
    text="CreateHIT and GetHIT return RequesterAnnotation as it was sent.",
)
def test_annotation_comes_back_as_sent(local_client: Any) -> None:
    sent = "batch 7 / unit <3> & more"
    made = local_client.create_hit(**hit_params(RequesterAnnotation=sent))["HIT"]
    assert made["RequesterAnnotation"] == sent
    assert local_client.get_hit(HITId=made["HITId"])["HIT"]["RequesterAnnotation"] == sent
    assert local_client.create_hit(**hit_params(RequesterAnnotation=""))["HIT"]["RequesterAnnotation"] == ""
    assert "RequesterAnnotation" not in local_client.create_hit(**hit_params())["HIT"]
