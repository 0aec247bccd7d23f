"""ListQualificationRequests, AcceptQualificationRequest, RejectQualificationRequest."""

from typing import Any

from django.db.models import QuerySet

from hits.marketplace.errors import not_found_error
from hits.marketplace.models import QualificationRequest, RequestState
from hits.marketplace.services import qualification_requests as services

from .limits import MAX_REASON_LENGTH, check_int32, check_length
from .lookup import find_qualification_type
from .paging import list_page_by_pk
from .registry import Call, operation
from .render import render_qualification_request

DEFAULT_VALUE = 1


@operation("ListQualificationRequests")
def list_qualification_requests(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return the requests that wait for the caller's decision, oldest first."""
    rows = _own_requests(call).filter(state=RequestState.PENDING)
    if "QualificationTypeId" in params:
        rows = rows.filter(qualification_type=find_qualification_type(call, params["QualificationTypeId"]))
    return list_page_by_pk(
        call,
        params,
        rows,
        name="QualificationRequests",
        render=lambda page: [render_qualification_request(row) for row in page],
    )


@operation("AcceptQualificationRequest")
def accept_qualification_request(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Grant a request with the value IntegerValue (default 1)."""
    value = params.get("IntegerValue", DEFAULT_VALUE)
    check_int32("IntegerValue", value)
    request = _find_request(call, params["QualificationRequestId"])
    services.accept_request(request=request, value=value, now=call.now)
    return {}


@operation("RejectQualificationRequest")
def reject_qualification_request(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Reject a request; the worker reads the reason."""
    reason = params.get("Reason", "")
    check_length("Reason", reason, 0, MAX_REASON_LENGTH)
    request = _find_request(call, params["QualificationRequestId"])
    services.reject_request(request=request, reason=reason, now=call.now)
    return {}


def _own_requests(call: Call) -> QuerySet[QualificationRequest]:
    rows = QualificationRequest.objects.select_related("qualification_type", "worker")
    return rows.filter(
        qualification_type__requester=call.requester, qualification_type__deleted_at__isnull=True
    )


def _find_request(call: Call, request_id: str) -> QualificationRequest:
    matches = _own_requests(call).filter(request_id=request_id)
    # The requester does not see a test that the worker is still taking.
    request = matches.exclude(state__in=[RequestState.TAKING, RequestState.EXPIRED]).first()
    if request is None:
        raise not_found_error(
            "QualificationRequest", request_id[:80].encode("ascii", "backslashreplace").decode()
        )
    return request
