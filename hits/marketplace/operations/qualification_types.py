"""Qualification types: Create, Get, Update, Delete and List, and ListHITsForQualificationType."""

from typing import Any

from django.db.models import Q

from hits.marketplace.errors import not_found_error
from hits.marketplace.models import HIT, HITType, QualificationType, TypeStatus
from hits.marketplace.services import qualifications as services

from .hit_lists import list_page_of_hits
from .limits import check_length
from .lookup import find_qualification_type, lock_qualification_type
from .paging import list_page_by_pk
from .qualification_terms import read_changed_terms, read_terms
from .registry import Call, operation
from .render import render_qualification_type

MAX_NAME_LENGTH, MAX_DESCRIPTION_LENGTH, MAX_KEYWORDS_LENGTH = 200, 2000, 1000


@operation("CreateQualificationType")
def create_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Create a qualification type, with or without a test. The name is unique among the caller's types."""
    check_length("Name", params["Name"], 1, MAX_NAME_LENGTH)
    check_length("Description", params["Description"], 1, MAX_DESCRIPTION_LENGTH)
    check_length("Keywords", params.get("Keywords", ""), 0, MAX_KEYWORDS_LENGTH)
    qualification_type = services.create_qualification_type(
        requester=call.requester,
        name=params["Name"],
        description=params["Description"],
        keywords=params.get("Keywords", ""),
        status=TypeStatus(params["QualificationTypeStatus"]),
        now=call.now,
        terms=read_terms(call, params),
    )
    return {"QualificationType": render_qualification_type(qualification_type)}


@operation("GetQualificationType")
def get_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return one of the caller's qualification types."""
    qualification_type = find_qualification_type(call, params["QualificationTypeId"])
    return {"QualificationType": render_qualification_type(qualification_type)}


@operation("UpdateQualificationType")
def update_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Change the given values. Name and keywords stay because the API has no parameters for them.

    A Test replaces test, duration and key together; it cannot be removed.
    """
    qualification_type = lock_qualification_type(call, params["QualificationTypeId"])
    description = params.get("Description")
    if description is not None:
        check_length("Description", description, 1, MAX_DESCRIPTION_LENGTH)
    status = params.get("QualificationTypeStatus")
    qualification_type = services.update_qualification_type(
        qualification_type=qualification_type,
        description=description,
        status=status and TypeStatus(status),
        terms=read_changed_terms(call, qualification_type, params),
    )
    return {"QualificationType": render_qualification_type(qualification_type)}


@operation("DeleteQualificationType")
def delete_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Delete a type immediately; its name becomes free and pending requests are rejected."""
    services.delete_qualification_type(
        qualification_type=lock_qualification_type(call, params["QualificationTypeId"]), now=call.now
    )
    return {}


@operation("ListQualificationTypes")
def list_qualification_types(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's qualification types, newest first.

    Other requesters' types are never visible, so MustBeOwnedByCaller changes nothing.
    """
    types = QualificationType.objects.filter(requester=call.requester, deleted_at__isnull=True)
    types = types.select_related("requester")
    if params["MustBeRequestable"]:
        types = types.filter(is_requestable=True, status=TypeStatus.ACTIVE)
    query = params.get("Query")
    if query:
        types = types.filter(
            Q(name__icontains=query) | Q(description__icontains=query) | Q(keywords__icontains=query)
        )
    return list_page_by_pk(
        call,
        params,
        types,
        name="QualificationTypes",
        render=lambda page: [render_qualification_type(kind) for kind in page],
        newest_first=True,
    )


@operation("ListHITsForQualificationType")
def list_hits_for_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's HITs that require a type, newest first, without disposed ones."""
    type_id = params["QualificationTypeId"]
    if not QualificationType.objects.filter(requester=call.requester, type_id=type_id).exists():
        raise not_found_error("QualificationType", type_id)
    hits = HIT.objects.filter(hit_type__in=_find_requiring_hit_types(call, type_id), disposed_at=None)
    return list_page_of_hits(call, params, hits)


def _find_requiring_hit_types(call: Call, type_id: str) -> list[int]:
    # In Python, since SQLite cannot search in a JSON list; a requester has few HIT types with requirements.
    types = HITType.objects.filter(requester=call.requester).exclude(qualification_requirements=[])
    rows = types.values_list("pk", "qualification_requirements")
    return [
        pk for pk, requirements in rows if any(row["QualificationTypeId"] == type_id for row in requirements)
    ]
