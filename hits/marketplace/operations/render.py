"""Render rows as API JSON. Absent values are None here and left out of the reply."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hits.domain.money.usd import format_bare_usd
from hits.marketplace.models import (
    HIT,
    Assignment,
    BonusPayment,
    Qualification,
    QualificationRequest,
    QualificationType,
    SlotState,
)
from hits.marketplace.selectors.lifecycle import SlotCounts, count_slots, hit_status
from hits.marketplace.wall_clock import epoch_seconds

API_STATUS = {
    SlotState.SUBMITTED: "Submitted",
    SlotState.APPROVED: "Approved",
    SlotState.REJECTED: "Rejected",
}


def render_hits(hits: Sequence[HIT], now: datetime) -> list[dict[str, Any]]:
    """Return HITs as API JSON; one query for the slots of all of them."""
    counts = count_slots(hits)
    return [render_hit(hit, counts[hit.pk], now) for hit in hits]


def render_hit(hit: HIT, counts: SlotCounts, now: datetime) -> dict[str, Any]:
    """Return one HIT as API JSON."""
    hit_type = hit.hit_type
    return {
        "HITId": hit.hit_id,
        "HITTypeId": hit_type.hit_type_id,
        "HITGroupId": hit_type.hit_type_id,
        "CreationTime": epoch_seconds(hit.created_at),
        "Title": hit_type.title,
        "Description": hit_type.description,
        "Question": hit.question,
        "HITLayoutId": hit.layout.layout_id if hit.layout else None,
        "Keywords": hit_type.keywords or None,
        "HITStatus": hit_status(hit, counts, now).value,
        "MaxAssignments": hit.max_assignments,
        "Reward": format_bare_usd(hit.reward_cents),
        "AutoApprovalDelayInSeconds": hit_type.auto_approval_seconds,
        "Expiration": epoch_seconds(hit.expires_at),
        "AssignmentDurationInSeconds": hit_type.assignment_seconds,
        "RequesterAnnotation": hit.annotation,
        "QualificationRequirements": hit_type.qualification_requirements,
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": counts.pending,
        "NumberOfAssignmentsAvailable": counts.open,
        "NumberOfAssignmentsCompleted": counts.completed,
    }


def render_assignment(slot: Assignment) -> dict[str, Any]:
    """Return one submitted assignment as API JSON (``slot.hit`` and ``slot.worker`` loaded)."""
    return {
        "AssignmentId": slot.assignment_id,
        "WorkerId": slot.worker.worker_id if slot.worker else None,
        "HITId": slot.hit.hit_id,
        "AssignmentStatus": API_STATUS[SlotState(slot.state)],
        "AutoApprovalTime": _render_time(slot.auto_approval_at),
        "AcceptTime": _render_time(slot.accepted_at),
        "SubmitTime": _render_time(slot.submitted_at),
        "ApprovalTime": _render_time(slot.approved_at),
        "RejectionTime": _render_time(slot.rejected_at),
        "Deadline": _render_time(slot.deadline),
        "Answer": slot.answer,
        "RequesterFeedback": slot.feedback or None,
    }


def render_bonus(bonus: BonusPayment) -> dict[str, Any]:
    """Return one bonus as API JSON (worker and assignment loaded)."""
    return {
        "WorkerId": bonus.worker.worker_id,
        "BonusAmount": format_bare_usd(bonus.amount_cents),
        "AssignmentId": bonus.assignment.assignment_id,
        "Reason": bonus.reason,
        "GrantTime": epoch_seconds(bonus.granted_at),
    }


def render_qualification_type(qualification_type: QualificationType) -> dict[str, Any]:
    """Return a qualification type as API JSON."""
    return {
        "QualificationTypeId": qualification_type.type_id,
        "CreationTime": epoch_seconds(qualification_type.created_at),
        "Name": qualification_type.name,
        "Description": qualification_type.description,
        "Keywords": qualification_type.keywords or None,
        "QualificationTypeStatus": qualification_type.status,
        "IsRequestable": qualification_type.is_requestable,
        "Test": qualification_type.test or None,
        "AnswerKey": qualification_type.answer_key or None,
        "TestDurationInSeconds": qualification_type.test_seconds,
        "RetryDelayInSeconds": qualification_type.retry_delay_seconds,
        "AutoGranted": qualification_type.is_auto_granted,
        "AutoGrantedValue": qualification_type.auto_granted_value
        if qualification_type.is_auto_granted
        else None,
    }


def render_qualification_request(request: QualificationRequest) -> dict[str, Any]:
    """Return a worker's qualification request as API JSON (type and worker loaded)."""
    return {
        "QualificationRequestId": request.request_id,
        "QualificationTypeId": request.qualification_type.type_id,
        "WorkerId": request.worker.worker_id,
        "Test": request.test or None,
        "Answer": request.answer or None,
        "SubmitTime": _render_time(request.submitted_at),
    }


def render_qualification(row: Qualification) -> dict[str, Any]:
    """Return a worker's qualification as API JSON (type and worker loaded)."""
    return {
        "QualificationTypeId": row.qualification_type.type_id,
        "WorkerId": row.worker.worker_id,
        "GrantTime": epoch_seconds(row.granted_at),
        "IntegerValue": row.value,
        "Status": row.status,
    }


def _render_time(moment: datetime | None) -> float | None:
    return None if moment is None else epoch_seconds(moment)
