"""Qualification types: Create, Get, Update, Delete and List, and ListHITsForQualificationType."""

from __future__ import annotations

from typing import Any

from django.db.models import Q

from hits.marketplace.errors import ApiError, missing
from hits.marketplace.models import HIT, HITType, QualificationType, TypeStatus
from hits.marketplace.services import lifecycle
from hits.marketplace.services import qualifications as services

from .lookup import find_qualification_type, lock_qualification_type
from .paging import make_page, page_size, read_token
from .qualification_terms import changed_terms, read_terms
from .registry import Call, operation
from .render import render_hits, render_qualification_type
from .rules import check_length

MAX_NAME, MAX_DESCRIPTION, MAX_KEYWORDS = 200, 2000, 1000


@operation("CreateQualificationType")
def create_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Make a qualification type, with a test or without. Its name is unique among the caller's."""
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
            terms=read_terms(call, params),
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
    """Change what is given. Name and keywords stay, as the API has no parameters for them.

    A Test comes with its duration and its key, and replaces all three; it cannot be taken away again.
    """
    kind = lock_qualification_type(call, params["QualificationTypeId"])
    description = params.get("Description")
    if description is not None:
        check_length("Description", description, 1, MAX_DESCRIPTION)
    status = params.get("QualificationTypeStatus")
    kind = services.update_type(
        kind=kind,
        description=description,
        status=status and TypeStatus(status),
        terms=changed_terms(call, kind, params),
    )
    return {"QualificationType": render_qualification_type(kind)}


@operation("DeleteQualificationType")
def delete_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Delete a type at once; its name is free again, and requests that wait are rejected."""
    services.delete_type(kind=lock_qualification_type(call, params["QualificationTypeId"]), now=call.now)
    return {}


@operation("ListQualificationTypes")
def list_qualification_types(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's qualification types, newest first.

    Nobody else's can be seen, so MustBeOwnedByCaller changes nothing.
    """
    kinds = QualificationType.objects.filter(requester=call.requester, deleted_at__isnull=True)
    kinds = kinds.select_related("requester")
    if params["MustBeRequestable"]:
        kinds = kinds.filter(is_requestable=True, status=TypeStatus.ACTIVE)
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


@operation("ListHITsForQualificationType")
def list_hits_for_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's HITs that require a type, newest first, those disposed of left out."""
    type_id = params["QualificationTypeId"]
    if not QualificationType.objects.filter(requester=call.requester, type_id=type_id).exists():
        raise missing("QualificationType", type_id)
    hits = HIT.objects.filter(hit_type__in=_requiring(call, type_id), disposed_at=None)
    after = read_token(call, params, length=1)
    if after is not None:
        hits = hits.filter(pk__lt=after[0])
    rows = list(hits.select_related("hit_type", "layout").order_by("-pk")[: page_size(params)])
    lifecycle.sweep_hits(hit_pks=[hit.pk for hit in rows], now=call.now)
    return make_page(
        call, params, rows, key_of=lambda hit: [hit.pk], name="HITs", rendered=render_hits(rows, call.now)
    )


def _requiring(call: Call, type_id: str) -> list[int]:
    # In Python, since SQLite cannot ask what a JSON list holds; a requester has few HIT types with conditions.
    types = HITType.objects.filter(requester=call.requester).exclude(qualification_requirements=[])
    rows = types.values_list("pk", "qualification_requirements")
    return [pk for pk, asked in rows if any(row["QualificationTypeId"] == type_id for row in asked)]
