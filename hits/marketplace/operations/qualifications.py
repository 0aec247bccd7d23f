"""Grant, revoke and list qualifications: Associate, Disassociate, GetQualificationScore, ListWorkersWith…."""

from typing import Any

from hits.marketplace.models import GrantStatus, Qualification
from hits.marketplace.services import qualifications as services

from .limits import MAX_REASON_LENGTH, check_int32, check_length
from .lookup import find_qualification_type, find_worker
from .paging import list_page_by_pk
from .registry import Call, operation
from .render import render_qualification

DEFAULT_VALUE = 1


@operation("AssociateQualificationWithWorker")
def associate_qualification(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Grant a qualification, or change its value.

    SendNotification is accepted and ignored: workers see their qualifications on their own page.
    """
    qualification_type = find_qualification_type(call, params["QualificationTypeId"])
    worker = find_worker(params["WorkerId"])
    value = params.get("IntegerValue", DEFAULT_VALUE)
    check_int32("IntegerValue", value)
    services.grant_qualification(
        qualification_type=qualification_type, worker=worker, value=value, now=call.now
    )
    return {}


@operation("DisassociateQualificationFromWorker")
def disassociate_qualification(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Revoke a qualification; the worker reads the reason."""
    qualification_type = find_qualification_type(call, params["QualificationTypeId"])
    worker = find_worker(params["WorkerId"])
    reason = params.get("Reason", "")
    check_length("Reason", reason, 0, MAX_REASON_LENGTH)
    services.revoke_qualification(
        qualification_type=qualification_type, worker=worker, reason=reason, now=call.now
    )
    return {}


@operation("GetQualificationScore")
def get_qualification_score(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return a worker's qualification. A revoked one is an error, on which Dallinger's code relies."""
    qualification_type = find_qualification_type(call, params["QualificationTypeId"])
    worker = find_worker(params["WorkerId"])
    rows = Qualification.objects.select_related("qualification_type", "worker")
    row = rows.filter(qualification_type=qualification_type, worker=worker).first()
    if row is None or row.status != GrantStatus.GRANTED:
        raise services.QualificationNotHeld(row)
    return {"Qualification": render_qualification(row)}


@operation("ListWorkersWithQualificationType")
def list_workers_with_qualification_type(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return who holds a qualification (with Status Revoked: who lost it), in the order of first grants."""
    qualification_type = find_qualification_type(call, params["QualificationTypeId"])
    rows = Qualification.objects.filter(
        qualification_type=qualification_type, status=params.get("Status", GrantStatus.GRANTED.value)
    )
    return list_page_by_pk(
        call,
        params,
        rows.select_related("qualification_type", "worker"),
        name="Qualifications",
        render=lambda page: [render_qualification(row) for row in page],
    )
