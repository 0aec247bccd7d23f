"""The API as boto3 meets it, in process and over HTTP alike."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hits.domain.answer_xml import parse_answer
from hits.marketplace.models import Worker
from tests.marketplace.support import FUNDS, hit_params, later, work


def code_of(failure: pytest.ExceptionInfo[ClientError]) -> tuple[str, str]:
    """Return exception name and TurkErrorCode.

    botocore reads the TurkErrorCode of modelled exceptions only, so that of a ParameterValidationError is
    empty here although it is on the wire.
    """
    reply = failure.value.response
    return reply["Error"]["Code"], reply.get("TurkErrorCode", "").removeprefix("AWS.MechanicalTurk.")


def test_whole_cycle(mturk: Any, worker: Worker) -> None:
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


def test_token_repeated_makes_no_second_hit(mturk: Any) -> None:
    hit = mturk.create_hit(**hit_params(UniqueRequestToken="t" * 64))["HIT"]
    with pytest.raises(ClientError) as failure:
        mturk.create_hit(**hit_params(UniqueRequestToken="t" * 64))
    assert code_of(failure) == ("RequestError", "HITAlreadyExists")
    assert hit["HITId"] in failure.value.response["Error"]["Message"]
    assert len(mturk.list_hits()["HITs"]) == 1


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
        ({"HITLayoutId": "L1"}, "NotImplemented"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_parameters_are_named_and_nothing_is_made(near: Any, change: dict[str, Any], code: str) -> None:
    with pytest.raises(ClientError) as failure:
        near.create_hit(**hit_params(**change))
    assert code in code_of(failure)
    assert near.list_hits()["HITs"] == []
    assert near.get_account_balance()["OnHoldBalance"] == "0.00"


def test_pages_default_to_ten_and_end_with_an_empty_one(mturk: Any) -> None:
    for _ in range(25):
        mturk.create_hit(**hit_params(MaxAssignments=1))
    assert mturk.list_hits()["NumResults"] == 10
    pages = list(mturk.get_paginator("list_hits").paginate())
    assert [page["NumResults"] for page in pages] == [10, 10, 5, 0]
    assert "NextToken" not in pages[-1]
    ids = [hit["HITId"] for page in pages for hit in page["HITs"]]
    assert len(set(ids)) == 25


def test_foreign_or_broken_next_token(near: Any) -> None:
    near.create_hit(**hit_params())
    token = near.list_hits()["NextToken"]
    for call, kwargs in (
        (near.list_hits, {"NextToken": "rubbish"}),
        (near.list_hits, {"NextToken": "W10="}),
        (near.list_reviewable_hits, {"NextToken": token}),
    ):
        with pytest.raises(ClientError) as failure:
            call(**kwargs)
        assert code_of(failure)[0] == "ParameterValidationError"


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


@pytest.mark.parametrize("seconds", [11, -80_295, 31_536_001])
def test_extension_increment_has_limits(near: Any, seconds: int) -> None:
    hit = near.create_hit(**hit_params(LifetimeInSeconds=100_000))["HIT"]
    with pytest.raises(ClientError) as failure:
        near.update_expiration_for_hit(
            HITId=hit["HITId"], ExpireAt=hit["Expiration"] + timedelta(seconds=seconds)
        )
    assert code_of(failure)[0] == "ParameterValidationError"
    assert f"{seconds}" in failure.value.response["Error"]["Message"]


def test_reject_needs_a_reason_and_releases_money(mturk: Any, worker: Worker) -> None:
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


@pytest.mark.parametrize(("days", "allowed"), [(29, True), (31, False)])
def test_override_of_a_rejection_within_thirty_days(
    near: Any, worker: Worker, days: int, allowed: bool
) -> None:
    hit = near.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    slot = work(worker, hit)
    near.reject_assignment(AssignmentId=slot.assignment_id, RequesterFeedback="No.")
    later(days=days)
    if not allowed:
        with pytest.raises(ClientError) as failure:
            near.approve_assignment(AssignmentId=slot.assignment_id, OverrideRejection=True)
        assert code_of(failure)[1] == "InvalidAssignmentState"
        return
    near.approve_assignment(AssignmentId=slot.assignment_id, OverrideRejection=True)
    after = near.get_assignment(AssignmentId=slot.assignment_id)["Assignment"]
    assert after["AssignmentStatus"] == "Approved"
    assert "RejectionTime" not in after
    assert near.get_account_balance() | {"ResponseMetadata": None} == {
        "AvailableBalance": f"{(FUNDS - 110) / 100:.2f}",
        "OnHoldBalance": "0.00",
        "ResponseMetadata": None,
    }


def test_bonus(mturk: Any, worker: Worker, other: Worker) -> None:
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


def test_delete_refuses_in_amazons_own_contradiction(mturk: Any, worker: Worker) -> None:
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


def test_review_status_moves_both_ways(near: Any, worker: Worker) -> None:
    hit = near.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    work(worker, hit)
    assert [row["HITId"] for row in near.list_reviewable_hits()["HITs"]] == [hit["HITId"]]
    near.update_hit_review_status(HITId=hit["HITId"])
    assert near.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Reviewing"
    assert near.list_reviewable_hits()["HITs"] == []
    assert len(near.list_reviewable_hits(Status="Reviewing", HITTypeId=hit["HITTypeId"])["HITs"]) == 1
    near.update_hit_review_status(HITId=hit["HITId"], Revert=True)
    assert near.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Reviewable"


def test_known_but_unserved_operations_refuse_by_name(mturk: Any) -> None:
    with pytest.raises(ClientError) as failure:
        mturk.list_qualification_requests()
    assert code_of(failure)[1] == "NotImplemented"
    assert "ListQualificationRequests" in failure.value.response["Error"]["Message"]


def test_annotation_comes_back_as_sent(near: Any) -> None:
    assert near.create_hit(**hit_params(RequesterAnnotation=""))["HIT"]["RequesterAnnotation"] == ""
    assert "RequesterAnnotation" not in near.create_hit(**hit_params())["HIT"]
