"""CreateQualificationType, GetQualificationType, UpdateQualificationType, ListQualificationTypes."""

from __future__ import annotations

from typing import Any

from django.db.models import Q

from hits.marketplace.errors import ApiError, not_served
from hits.marketplace.models import QualificationType, TypeStatus
from hits.marketplace.services import qualifications as services

from .lookup import find_qualification_type
from .paging import make_page, page_size, read_token
from .registry import Call, operation
from .render import render_qualification_type
from .rules import check_length

MAX_NAME, MAX_DESCRIPTION, MAX_KEYWORDS = 200, 2000, 1000
# Tests, and what workers would ask for themselves.
_UNSERVED = (
    "Test",
    "AnswerKey",
    "TestDurationInSeconds",
    "RetryDelayInSeconds",
    "AutoGranted",
    "AutoGrantedValue",
)


@operation("CreateQualificationType")
def create_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Make a qualification type. Its name is unique among the caller's."""
    _refuse_tests(params)
    check_length("Name", params["Name"], 1, MAX_NAME)
    check_length("Description", params["Description"], 1, MAX_DESCRIPTION)
    check_length("Keywords", params.get("Keywords", ""), 0, MAX_KEYWORDS)
    try:
        kind = services.create_type(
            requester=call.requester,
            name=params["Name"],
            description=params["Description"],
            keywords=params.get("Keywords", ""),
            status=TypeStatus(params["QualificationTypeStatus"]),
            now=call.now,
        )
    except services.NameTaken:
        raise ApiError(
            "QualificationTypeAlreadyExists",
            "You have already created a QualificationType with this name. "
            "A QualificationType's name must be unique among all of the QualificationTypes created by the "
            "same user.",
        ) from None
    return {"QualificationType": render_qualification_type(kind)}


@operation("GetQualificationType")
def get_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return one of the caller's qualification types."""
    kind = find_qualification_type(call, params["QualificationTypeId"])
    return {"QualificationType": render_qualification_type(kind)}


@operation("UpdateQualificationType")
def update_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Change description and status. Name and keywords stay, as the API has no parameters for them."""
    _refuse_tests(params)
    kind = find_qualification_type(call, params["QualificationTypeId"])
    description = params.get("Description")
    if description is not None:
        check_length("Description", description, 1, MAX_DESCRIPTION)
    status = params.get("QualificationTypeStatus")
    kind = services.update_type(kind=kind, description=description, status=status and TypeStatus(status))
    return {"QualificationType": render_qualification_type(kind)}


@operation("ListQualificationTypes")
def list_qualification_types(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's qualification types, newest first.

    Nobody else's can be seen, so MustBeOwnedByCaller changes nothing; none can be requested yet, so
    MustBeRequestable leaves none.
    """
    kinds = QualificationType.objects.filter(requester=call.requester)
    if params["MustBeRequestable"]:
        kinds = kinds.filter(is_requestable=True)
    query = params.get("Query")
    if query:
        kinds = kinds.filter(
            Q(name__icontains=query) | Q(description__icontains=query) | Q(keywords__icontains=query)
        )
    after = read_token(call, params, length=1)
    if after is not None:
        kinds = kinds.filter(pk__lt=after[0])
    rows = list(kinds.order_by("-pk")[: page_size(params)])
    return make_page(
        call,
        params,
        rows,
        key_of=lambda kind: [kind.pk],
        name="QualificationTypes",
        rendered=[render_qualification_type(kind) for kind in rows],
    )


def _refuse_tests(params: dict[str, Any]) -> None:
    for name in _UNSERVED:
        if params.get(name):
            raise not_served(name)
