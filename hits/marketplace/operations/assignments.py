"""ListAssignmentsForHIT, GetAssignment, ApproveAssignment, RejectAssignment."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q

from hits.marketplace.errors import validation_error
from hits.marketplace.models import Assignment
from hits.marketplace.services import decisions

from .limits import check_length
from .lookup import find_hit, find_submission
from .paging import build_page_reply, page_size, read_page_key
from .registry import Call, operation
from .render import API_STATUS, render_assignment, render_hits

MAX_FEEDBACK_LENGTH = 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STATE_BY_STATUS = {status: state for state, status in API_STATUS.items()}


@operation("ListAssignmentsForHIT")
def list_assignments(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return submitted assignments of a HIT, first submitted first."""
    hit = find_hit(call, params["HITId"])
    statuses = params.get("AssignmentStatuses") or list(_STATE_BY_STATUS)
    slots = Assignment.objects.filter(hit=hit, state__in=[_STATE_BY_STATUS[name] for name in statuses])
    after = read_page_key(call, params, key_length=2)
    if after is not None:
        slots = slots.filter(_after_key_condition(after))
    rows = list(slots.select_related("hit", "worker").order_by("submitted_at", "pk")[: page_size(params)])
    return build_page_reply(
        call,
        params,
        rows,
        key_of=lambda slot: [_microseconds(slot.submitted_at), slot.pk],
        name="Assignments",
        rendered=[render_assignment(slot) for slot in rows],
    )


@operation("GetAssignment")
def get_assignment(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Return one submitted assignment with its HIT."""
    slot = find_submission(call, params["AssignmentId"])
    return {"Assignment": render_assignment(slot), "HIT": render_hits([slot.hit], call.now)[0]}


@operation("ApproveAssignment")
def approve_assignment(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Approve and pay. OverrideRejection allows rejected work too, within 30 days of its submission."""
    feedback = params.get("RequesterFeedback")
    check_length("RequesterFeedback", feedback or "", 0, MAX_FEEDBACK_LENGTH)
    override = params.get("OverrideRejection", False)
    slot = find_submission(call, params["AssignmentId"], lock_hit=override)
    decisions.approve_assignment(slot=slot, now=call.now, feedback=feedback, override_rejection=override)
    return {}


@operation("RejectAssignment")
def reject_assignment(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Reject with a reason that the worker reads. The slot is not offered again.

    An empty reason is accepted because scripts send it (psiTurk always does). The worker reads "No reason given."
    """
    check_length("RequesterFeedback", params["RequesterFeedback"], 0, MAX_FEEDBACK_LENGTH)
    slot = find_submission(call, params["AssignmentId"])
    decisions.reject_assignment(slot=slot, now=call.now, feedback=params["RequesterFeedback"])
    return {}


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _after_key_condition(key: list[int]) -> Q:
    try:
        moment = _EPOCH + timedelta(microseconds=key[0])
    except OverflowError:
        raise validation_error("Invalid NextToken.", "InvalidParameterValue") from None
    return Q(submitted_at__gt=moment) | Q(submitted_at=moment, pk__gt=key[1])
