"""Checks against botocore's model, for requests and replies."""

from typing import Any

import pytest

from hits.marketplace import shapes
from hits.marketplace.operations import registry

GOOD = {
    "Title": "t",
    "Description": "d",
    "Reward": "1.10",
    "LifetimeInSeconds": 60,
    "AssignmentDurationInSeconds": 60,
}


def check_input(operation: str, value: Any) -> None:
    """Check a request."""
    model = shapes.service_model().operation_model(operation)
    shapes.check_shape(model.input_shape, value, operation)


def test_a_good_request_passes() -> None:
    check_input("CreateHIT", GOOD)


@pytest.mark.rule(
    "shapes-input",
    source="M",
    text="Each request is checked against the model's shapes: required and unknown members, types, "
    "patterns, enums, minima and maxima (boto3 checks neither patterns nor enums nor maxima).",
)
@pytest.mark.parametrize(
    ("operation", "value", "words"),
    [
        ("CreateHIT", {**GOOD, "Title": None}, "Title: is required"),
        ("CreateHIT", {**GOOD, "Colour": "red"}, "Colour: is not a parameter"),
        ("CreateHIT", {**GOOD, "Reward": "$1"}, "does not match"),
        ("CreateHIT", {**GOOD, "Reward": "1.00\n"}, "does not match"),
        ("CreateHIT", {**GOOD, "Reward": 1}, "must be a string"),
        ("CreateHIT", {**GOOD, "LifetimeInSeconds": "60"}, "whole number"),
        ("CreateHIT", {**GOOD, "LifetimeInSeconds": True}, "whole number"),
        ("CreateHIT", {**GOOD, "UniqueRequestToken": ""}, "less than 1"),
        ("CreateHIT", {**GOOD, "UniqueRequestToken": "x" * 65}, "more than 64"),
        ("CreateHIT", [], "must be an object"),
        ("GetHIT", {"HITId": "lower"}, "does not match"),
        ("ListHITs", {"MaxResults": 101}, "more than 100"),
        ("ListHITs", {"MaxResults": 0}, "less than 1"),
        ("ListAssignmentsForHIT", {"HITId": "A", "AssignmentStatuses": ["Accepted"]}, "not one of Submitted"),
        ("ListAssignmentsForHIT", {"HITId": "A", "AssignmentStatuses": "Submitted"}, "must be a list"),
        ("ListReviewableHITs", {"Status": "Foo"}, "not one of"),
        ("SendBonus", {"WorkerId": "W1", "BonusAmount": "1", "AssignmentId": "A", "Reason": "r"}, "WorkerId"),
        ("UpdateExpirationForHIT", {"HITId": "A", "ExpireAt": "2026-01-01"}, "seconds since 1970"),
        ("UpdateExpirationForHIT", {"HITId": "A", "ExpireAt": float("nan")}, "seconds since 1970"),
        ("ApproveAssignment", {"AssignmentId": "A", "OverrideRejection": "yes"}, "true or false"),
    ],
)
def test_each_rule_of_the_model(operation: str, value: Any, words: str) -> None:
    with pytest.raises(shapes.ShapeError, match=words):
        check_input(operation, value)


@pytest.mark.rule(
    "operations-39",
    source="M",
    text="The model of version 2017-01-17 has 39 operations, and each is registered.",
)
def test_all_model_operations_are_registered() -> None:
    assert len(shapes.service_model().operation_names) == 39
    assert sorted(registry._HANDLERS) == sorted(shapes.service_model().operation_names)


def test_register_refuses_unknown_and_duplicate_operations() -> None:
    with pytest.raises(LookupError, match="no operation"):
        registry.operation("MakeTea")
    with pytest.raises(LookupError, match="twice"):
        registry.operation("GetHIT")


@pytest.mark.rule("shapes-null", source="X", text="A null member counts as absent.")
def test_null_members_mean_absent() -> None:
    assert shapes.drop_nulls({"a": None, "b": [{"c": None, "d": 1}]}) == {"b": [{"d": 1}]}


@pytest.mark.rule(
    "shapes-output",
    source="M",
    text="Each reply is checked against the model's shapes too; an invalid one becomes a ServiceFault, "
    "and the call is rolled back.",
)
def test_reply_outside_model_rolls_back_call(local_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from hits.marketplace.models import HIT
    from hits.marketplace.operations import hits
    from tests.hits.marketplace.support import hit_params

    real = hits.render_hits
    monkeypatch.setattr(hits, "render_hits", lambda rows, now: [{**real(rows, now)[0], "HITStatus": "Gone"}])
    with pytest.raises(local_client.exceptions.ServiceFault):
        local_client.create_hit(**hit_params())
    assert not HIT.objects.exists()
