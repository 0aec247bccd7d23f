"""Qualification types, grants and blocks through boto3, in process and over HTTP."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.db import DatabaseError, connection

from hits.marketplace.models import AppendOnlyError, QualificationChange, Worker, WorkerBlock
from hits.marketplace.services import accounts
from tests.hits.marketplace.support import Market, advance_time, hit_params
from tests.hits.marketplace.test_conformance import code_of

LOCALE = "00000000000000000071"
APPROVED = "00000000000000000040"


def make_type(client: Any, name: str = "Trained", **more: Any) -> str:
    """Return the id of a new qualification type."""
    params = {
        "Name": name,
        "Description": "Finish the training round.",
        "QualificationTypeStatus": "Active",
        **more,
    }
    return str(client.create_qualification_type(**params)["QualificationType"]["QualificationTypeId"])


@pytest.mark.rule(
    "qualification-type",
    source="M",
    text="CreateQualificationType creates a type, GetQualificationType returns it, "
    "UpdateQualificationType changes the given values only.",
)
def test_type_can_be_created_updated_and_listed(mturk: Any) -> None:
    made = mturk.create_qualification_type(
        Name="Trained",
        Description="Finish the training round.",
        Keywords="photo",
        QualificationTypeStatus="Active",
    )["QualificationType"]
    type_id = made["QualificationTypeId"]
    assert (made["Name"], made["IsRequestable"], made["AutoGranted"]) == ("Trained", True, False)
    got = mturk.get_qualification_type(QualificationTypeId=type_id)["QualificationType"]
    assert got == made
    changed = mturk.update_qualification_type(
        QualificationTypeId=type_id, Description="Ask us.", QualificationTypeStatus="Inactive"
    )["QualificationType"]
    assert changed == made | {"Description": "Ask us.", "QualificationTypeStatus": "Inactive"}
    again = mturk.update_qualification_type(QualificationTypeId=type_id)["QualificationType"]
    assert again == changed


@pytest.mark.rule(
    "qualification-name",
    source="I",
    text="The name of a qualification type is unique per requester; CreateQualificationType refuses a "
    "second one.",
)
def test_type_name_is_unique_per_requester(mturk: Any, market: Market) -> None:
    make_type(mturk)
    with pytest.raises(ClientError) as failure:
        make_type(mturk)
    assert code_of(failure) == ("RequestError", "QualificationTypeAlreadyExists")
    assert "You have already created a QualificationType with this name." in str(failure.value)
    assert make_type(market.client(accounts.create_key_pair(name="Other lab")))


@pytest.mark.rule(
    "qualification-own",
    source="ours",
    text="Qualification types, grants and blocks of other requesters are neither shown nor changed.",
)
def test_another_requesters_types_and_blocks_are_invisible(local_market: Market, worker: Worker) -> None:
    mine, theirs = (local_market.client(accounts.create_key_pair(name=name)) for name in ("A lab", "B lab"))
    type_id = make_type(mine)
    mine.associate_qualification_with_worker(QualificationTypeId=type_id, WorkerId=worker.worker_id)
    mine.create_worker_block(WorkerId=worker.worker_id, Reason="r")
    assert theirs.list_qualification_types(MustBeRequestable=False)["QualificationTypes"] == []
    assert theirs.list_worker_blocks()["WorkerBlocks"] == []
    here = {"QualificationTypeId": type_id, "WorkerId": worker.worker_id}
    calls = [
        lambda: theirs.get_qualification_type(QualificationTypeId=type_id),
        lambda: theirs.update_qualification_type(QualificationTypeId=type_id, Description="mine"),
        lambda: theirs.associate_qualification_with_worker(**here),
        lambda: theirs.disassociate_qualification_from_worker(**here),
        lambda: theirs.get_qualification_score(**here),
        lambda: theirs.list_workers_with_qualification_type(QualificationTypeId=type_id),
        lambda: theirs.create_hit(
            **hit_params(QualificationRequirements=[{"QualificationTypeId": type_id, "Comparator": "Exists"}])
        ),
    ]
    for call in calls:
        with pytest.raises(ClientError) as failure:
            call()
        assert code_of(failure) == ("RequestError", "QualificationTypeDoesNotExist")
    theirs.delete_worker_block(WorkerId=worker.worker_id)
    assert len(mine.list_worker_blocks()["WorkerBlocks"]) == 1


@pytest.mark.rule(
    "qualification-list",
    source="D",
    text="ListQualificationTypes filters by MustBeRequestable, MustBeOwnedByCaller and Query, in pages.",
)
def test_list_query_requestable_and_pages(mturk: Any) -> None:
    for number in range(12):
        make_type(mturk, f"Round {number}", Keywords="100% sure" if number == 3 else "")
    found = mturk.list_qualification_types(MustBeRequestable=False, MustBeOwnedByCaller=True, Query="ROUND 1")
    assert [row["Name"] for row in found["QualificationTypes"]] == ["Round 11", "Round 10", "Round 1"]
    found = mturk.list_qualification_types(MustBeRequestable=False, Query="0% s")
    assert [row["Name"] for row in found["QualificationTypes"]] == ["Round 3"]
    asked = mturk.list_qualification_types(MustBeRequestable=True, Query="round 3")
    assert [row["Name"] for row in asked["QualificationTypes"]] == ["Round 3"]
    mturk.update_qualification_type(
        QualificationTypeId=asked["QualificationTypes"][0]["QualificationTypeId"],
        QualificationTypeStatus="Inactive",
    )
    assert mturk.list_qualification_types(MustBeRequestable=True, Query="round 3")["NumResults"] == 0
    pages = list(mturk.get_paginator("list_qualification_types").paginate(MustBeRequestable=False))
    assert [page["NumResults"] for page in pages] == [10, 2, 0]


@pytest.mark.rule(
    "qualification-grant",
    source="D",
    text="AssociateQualificationWithWorker grants (default value 1) or changes the value, "
    "GetQualificationScore returns it, DisassociateQualificationFromWorker revokes it with a "
    "reason.",
)
def test_grant_value_score_and_revoke(mturk: Any, worker: Worker, other: Worker) -> None:
    type_id = make_type(mturk)
    here = {"QualificationTypeId": type_id, "WorkerId": worker.worker_id}
    mturk.associate_qualification_with_worker(**here, SendNotification=True)
    first = mturk.get_qualification_score(**here)["Qualification"]
    assert (first["IntegerValue"], first["Status"], first["WorkerId"]) == (1, "Granted", worker.worker_id)
    for _ in range(2):
        mturk.associate_qualification_with_worker(**here, IntegerValue=90, SendNotification=False)
    score = mturk.get_qualification_score(**here)["Qualification"]
    assert (score["IntegerValue"], score["GrantTime"]) == (90, first["GrantTime"])
    mturk.disassociate_qualification_from_worker(**here, Reason="Not used for a year.")
    with pytest.raises(ClientError, match="status of: Granted"):
        mturk.get_qualification_score(**here)
    with pytest.raises(ClientError) as failure:
        mturk.disassociate_qualification_from_worker(**here)
    assert code_of(failure)[1] == "InvalidQualificationState"
    trail = list(QualificationChange.objects.order_by("pk").values_list("status", "value", "reason"))
    assert trail == [("Granted", 1, ""), ("Granted", 90, ""), ("Revoked", 90, "Not used for a year.")]
    for_other_worker = here | {"WorkerId": other.worker_id}
    for call in (mturk.get_qualification_score, mturk.disassociate_qualification_from_worker):
        with pytest.raises(ClientError) as failure:
            call(**for_other_worker)
        assert code_of(failure)[1] == "QualificationDoesNotExist"


@pytest.mark.clock
@pytest.mark.rule(
    "qualification-regrant",
    source="ours",
    text="A revoked qualification that is granted again has a new GrantTime.",
)
def test_grant_after_revocation_sets_new_grant_time(local_client: Any, worker: Worker) -> None:
    type_id = make_type(local_client)
    here = {"QualificationTypeId": type_id, "WorkerId": worker.worker_id}
    local_client.associate_qualification_with_worker(**here)
    first = local_client.get_qualification_score(**here)["Qualification"]["GrantTime"]
    local_client.disassociate_qualification_from_worker(**here)
    advance_time(days=3)
    local_client.associate_qualification_with_worker(**here)
    again = local_client.get_qualification_score(**here)["Qualification"]
    assert again["Status"] == "Granted"
    assert (again["GrantTime"] - first).days in {2, 3}


@pytest.mark.rule(
    "qualification-holders",
    source="M",
    text="ListWorkersWithQualificationType lists holders by Status, in pages.",
)
def test_workers_with_a_type_by_status_and_page(mturk: Any, workers: list[Worker]) -> None:
    type_id = make_type(mturk)
    for value, person in enumerate(workers):
        mturk.associate_qualification_with_worker(
            QualificationTypeId=type_id, WorkerId=person.worker_id, IntegerValue=value
        )
    mturk.disassociate_qualification_from_worker(
        QualificationTypeId=type_id, WorkerId=workers[1].worker_id, Reason="r"
    )
    pages = list(
        mturk.get_paginator("list_workers_with_qualification_type").paginate(
            QualificationTypeId=type_id, Status="Granted", MaxResults=1
        )
    )
    holders = [(row["WorkerId"], row["IntegerValue"]) for page in pages for row in page["Qualifications"]]
    assert holders == [(workers[0].worker_id, 0), (workers[2].worker_id, 2)]
    gone = mturk.list_workers_with_qualification_type(QualificationTypeId=type_id, Status="Revoked")
    assert [row["WorkerId"] for row in gone["Qualifications"]] == [workers[1].worker_id]


@pytest.mark.rule("worker-unknown", source="ours", text="An unknown WorkerId is WorkerDoesNotExist.")
def test_unknown_workers(local_client: Any) -> None:
    type_id = make_type(local_client)
    nobody = "A" + "Z" * 13
    for call, params in (
        (local_client.associate_qualification_with_worker, {"QualificationTypeId": type_id}),
        (local_client.disassociate_qualification_from_worker, {"QualificationTypeId": type_id}),
        (local_client.get_qualification_score, {"QualificationTypeId": type_id}),
        (local_client.create_worker_block, {"Reason": "r"}),
        (local_client.delete_worker_block, {}),
    ):
        with pytest.raises(ClientError) as failure:
            call(WorkerId=nobody, **params)
        assert code_of(failure) == ("RequestError", "WorkerDoesNotExist")


@pytest.mark.rule(
    "blocks",
    source="M",
    text="CreateWorkerBlock sets a block or its reason, DeleteWorkerBlock ends it (repeating is no "
    "error), ListWorkerBlocks lists the current ones.",
)
def test_blocks_are_listed_until_ended(mturk: Any, worker: Worker, other: Worker) -> None:
    mturk.create_worker_block(WorkerId=worker.worker_id, Reason="Copied answers.")
    mturk.create_worker_block(WorkerId=worker.worker_id, Reason="Copied answers, twice.")
    mturk.create_worker_block(WorkerId=other.worker_id, Reason="The same.")
    pages = list(mturk.get_paginator("list_worker_blocks").paginate(MaxResults=1))
    rows = [row for page in pages for row in page["WorkerBlocks"]]
    assert rows == [
        {"WorkerId": worker.worker_id, "Reason": "Copied answers, twice."},
        {"WorkerId": other.worker_id, "Reason": "The same."},
    ]
    mturk.delete_worker_block(WorkerId=worker.worker_id, Reason="Explained.")
    mturk.delete_worker_block(WorkerId=worker.worker_id)
    assert [row["WorkerId"] for row in mturk.list_worker_blocks()["WorkerBlocks"]] == [other.worker_id]
    kept = WorkerBlock.objects.get(worker=worker)
    assert (kept.reason, kept.end_reason) == ("Copied answers, twice.", "Explained.")


@pytest.mark.rule(
    "qualification-limits",
    source="D",
    text="CreateQualificationType accepts a name of up to 200 and a description of up to 2,000 characters.",
)
@pytest.mark.parametrize(
    "params",
    [
        {"Name": ""},
        {"Name": "n" * 201},
        {"Description": ""},
        {"Description": "d" * 2001},
        {"QualificationTypeStatus": "Maybe"},
    ],
)
def test_bad_type_parameters_are_refused(local_client: Any, params: dict[str, str]) -> None:
    with pytest.raises(ClientError) as failure:
        make_type(local_client, **{"name": params.pop("Name", "n"), **params})
    assert code_of(failure)[0] == "ParameterValidationError"
    assert local_client.list_qualification_types(MustBeRequestable=False)["NumResults"] == 0


@pytest.mark.rule("qualification-value", source="M", text="A qualification's value is a 32-bit integer.")
def test_qualification_value_must_fit_32_bits(local_client: Any, worker: Worker) -> None:
    type_id = make_type(local_client)
    here = {"QualificationTypeId": type_id, "WorkerId": worker.worker_id}
    for value in (2**31 - 1, -(2**31)):
        local_client.associate_qualification_with_worker(**here, IntegerValue=value)
        assert local_client.get_qualification_score(**here)["Qualification"]["IntegerValue"] == value
    for value in (2**31, -(2**31) - 1):
        with pytest.raises(ClientError) as failure:
            local_client.associate_qualification_with_worker(**here, IntegerValue=value)
        assert code_of(failure)[0] == "ParameterValidationError"


class TestRequirements:
    """QualificationRequirements on CreateHITType and CreateHIT."""

    @pytest.mark.rule(
        "requirements-shown",
        source="D",
        text="HITs return their QualificationRequirements with matching RequiredToPreview and "
        "ActionsGuarded; they are part of the HIT type in any order.",
    )
    def test_requirements_are_returned_and_distinguish_hit_types(self, mturk: Any) -> None:
        trained = make_type(mturk)
        asked: list[dict[str, Any]] = [
            {
                "QualificationTypeId": trained,
                "Comparator": "GreaterThanOrEqualTo",
                "IntegerValues": [2],
                "ActionsGuarded": "DiscoverPreviewAndAccept",
            },
            {
                "QualificationTypeId": LOCALE,
                "Comparator": "In",
                "LocaleValues": [{"Country": "US"}, {"Country": "CA"}],
            },
            {
                "QualificationTypeId": APPROVED,
                "Comparator": "GreaterThan",
                "IntegerValues": [0],
                "RequiredToPreview": True,
            },
        ]
        hit = mturk.create_hit(**hit_params(QualificationRequirements=asked))["HIT"]
        shown = {row["QualificationTypeId"]: row for row in hit["QualificationRequirements"]}
        assert shown[trained] == asked[0] | {"RequiredToPreview": True}
        assert shown[LOCALE] == asked[1] | {"RequiredToPreview": False, "ActionsGuarded": "Accept"}
        assert shown[APPROVED]["ActionsGuarded"] == "PreviewAndAccept"
        listed = mturk.get_hit(HITId=hit["HITId"])["HIT"]
        assert listed["QualificationRequirements"] == hit["QualificationRequirements"]
        turned = mturk.create_hit(**hit_params(QualificationRequirements=asked[::-1]))["HIT"]
        fewer = mturk.create_hit(**hit_params(QualificationRequirements=asked[:2]))["HIT"]
        none = mturk.create_hit(**hit_params())["HIT"]
        kinds = [row["HITTypeId"] for row in (hit, turned, fewer, none)]
        assert kinds[0] == kinds[1]
        assert len(set(kinds)) == 3

    @pytest.mark.rule(
        "requirements-refused",
        source="D",
        text="Requirements that no worker can meet or that are malformed are refused when the HIT is "
        "created.",
    )
    @pytest.mark.parametrize(
        ("asked", "code"),
        [
            ({"QualificationTypeId": LOCALE, "Comparator": "Exists"}, "ParameterValidationError"),
            (
                {
                    "QualificationTypeId": LOCALE,
                    "Comparator": "GreaterThan",
                    "LocaleValues": [{"Country": "US"}],
                },
                "ParameterValidationError",
            ),
            (
                {"QualificationTypeId": LOCALE, "Comparator": "EqualTo", "LocaleValues": [{"Country": "us"}]},
                "ParameterValidationError",
            ),
            (
                {"QualificationTypeId": LOCALE, "Comparator": "EqualTo", "IntegerValues": [1]},
                "ParameterValidationError",
            ),
            (
                {"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": [{"Country": "US"}] * 31},
                "ParameterValidationError",
            ),
            ({"QualificationTypeId": APPROVED, "Comparator": "Exists"}, "ParameterValidationError"),
            (
                {"QualificationTypeId": APPROVED, "Comparator": "In", "IntegerValues": list(range(16))},
                "ParameterValidationError",
            ),
            ({"QualificationTypeId": APPROVED, "Comparator": "EqualTo"}, "ParameterValidationError"),
            (
                {"QualificationTypeId": APPROVED, "Comparator": "EqualTo", "IntegerValues": [1, 2]},
                "ParameterValidationError",
            ),
            (
                {"QualificationTypeId": APPROVED, "Comparator": "EqualTo", "IntegerValues": [2**31]},
                "ParameterValidationError",
            ),
            ({"QualificationTypeId": APPROVED, "Comparator": "Equals"}, "ParameterValidationError"),
        ],
        ids=lambda value: str(value)[24:90],
    )
    def test_invalid_requirements_are_refused(
        self, local_client: Any, asked: dict[str, Any], code: str
    ) -> None:
        with pytest.raises(ClientError) as failure:
            local_client.create_hit(**hit_params(QualificationRequirements=[asked]))
        assert code in f"{code_of(failure)} {failure.value}"
        assert local_client.list_hits()["HITs"] == []

    @pytest.mark.rule("requirements-ten", source="D", text="A HIT has at most 10 qualification requirements.")
    def test_more_than_ten_requirements_are_refused(self, local_client: Any) -> None:
        asked = [
            {"QualificationTypeId": APPROVED, "Comparator": "NotEqualTo", "IntegerValues": [n + 1]}
            for n in range(11)
        ]
        assert local_client.create_hit(**hit_params(QualificationRequirements=asked[:10]))["HIT"]
        with pytest.raises(ClientError) as failure:
            local_client.create_hit(**hit_params(QualificationRequirements=asked))
        assert code_of(failure)[0] == "ParameterValidationError"

    @pytest.mark.rule(
        "qualification-inactive",
        source="D",
        text="A new HIT cannot require an Inactive qualification type.",
    )
    def test_inactive_type_refuses_new_hits(self, local_client: Any) -> None:
        trained = make_type(local_client)
        asked = [{"QualificationTypeId": trained, "Comparator": "Exists"}]
        hit = local_client.create_hit(**hit_params(QualificationRequirements=asked))["HIT"]
        local_client.update_qualification_type(
            QualificationTypeId=trained, QualificationTypeStatus="Inactive"
        )
        for call, params in (
            (local_client.create_hit, hit_params(QualificationRequirements=asked)),
            (
                local_client.create_hit_with_hit_type,
                {
                    "HITTypeId": hit["HITTypeId"],
                    "LifetimeInSeconds": 60,
                    "Question": hit_params()["Question"],
                },
            ),
        ):
            with pytest.raises(ClientError) as failure:
                call(**params)
            assert code_of(failure)[1] == "InvalidQualificationTypeState"


def test_qualification_changes_are_append_only(local_client: Any, worker: Worker) -> None:
    local_client.associate_qualification_with_worker(
        QualificationTypeId=make_type(local_client), WorkerId=worker.worker_id
    )
    change = QualificationChange.objects.get()
    change.value = 9
    with pytest.raises(AppendOnlyError):
        change.save()
    with pytest.raises(AppendOnlyError):
        QualificationChange.objects.all().delete()
    for table in ("marketplace_qualificationchange", "marketplace_countrydeclaration"):
        with pytest.raises(DatabaseError), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table}")
