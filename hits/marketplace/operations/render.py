"""Rows as the API shows them. Absent values are None here and left out of the reply."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hits.domain.money.usd import format_usd
from hits.marketplace.clock import epoch_seconds
from hits.marketplace.models import (
    HIT,
    Assignment,
    BonusPayment,
    Qualification,
    QualificationRequest,
    QualificationType,
    SlotState,
)
from hits.marketplace.selectors.lifecycle import SlotCounts, count_slots, status_of

API_STATUS = {
    SlotState.SUBMITTED: "Submitted",
    SlotState.APPROVED: "Approved",
    SlotState.REJECTED: "Rejected",
}


def render_hits(hits: Sequence[HIT], now: datetime) -> list[dict[str, Any]]:
    """Return HITs in the shape of the API; two queries however many there are."""
    counts = count_slots(hits)
    return [render_hit(hit, counts[hit.pk], now) for hit in hits]


def render_hit(hit: HIT, counts: SlotCounts, now: datetime) -> dict[str, Any]:
    """Return one HIT in the shape of the API."""
    kind = hit.hit_type
    return {
        "HITId": hit.hit_id,
        "HITTypeId": kind.hit_type_id,
        "HITGroupId": kind.hit_type_id,
        "CreationTime": epoch_seconds(hit.created_at),
        "Title": kind.title,
        "Description": kind.description,
        "Question": hit.question,
        "HITLayoutId": hit.layout.layout_id if hit.layout else None,
        "Keywords": kind.keywords or None,
        "HITStatus": status_of(hit, counts, now).value,
        "MaxAssignments": hit.max_assignments,
        "Reward": format_usd(hit.reward_cents),
        "AutoApprovalDelayInSeconds": kind.auto_approval_seconds,
        "Expiration": epoch_seconds(hit.expires_at),
        "AssignmentDurationInSeconds": kind.assignment_seconds,
        "RequesterAnnotation": hit.annotation,
        "QualificationRequirements": kind.qualification_requirements,
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": counts.pending,
        "NumberOfAssignmentsAvailable": counts.open,
        "NumberOfAssignmentsCompleted": counts.completed,
    }


def render_assignment(slot: Assignment) -> dict[str, Any]:
    """Return one submitted assignment in the shape of the API (``slot.hit`` and ``slot.worker`` loaded)."""
    return {
        "AssignmentId": slot.assignment_id,
        "WorkerId": slot.worker.worker_id if slot.worker else None,
        "HITId": slot.hit.hit_id,
        "AssignmentStatus": API_STATUS[SlotState(slot.state)],
        "AutoApprovalTime": _time(slot.auto_approval_at),
        "AcceptTime": _time(slot.accepted_at),
        "SubmitTime": _time(slot.submitted_at),
        "ApprovalTime": _time(slot.approved_at),
        "RejectionTime": _time(slot.rejected_at),
        "Deadline": _time(slot.deadline),
        "Answer": slot.answer,
        "RequesterFeedback": slot.feedback or None,
    }


def render_bonus(bonus: BonusPayment) -> dict[str, Any]:
    """Return one bonus in the shape of the API (worker and assignment loaded)."""
    return {
        "WorkerId": bonus.worker.worker_id,
        "BonusAmount": format_usd(bonus.amount_cents),
        "AssignmentId": bonus.assignment.assignment_id,
        "Reason": bonus.reason,
        "GrantTime": epoch_seconds(bonus.granted_at),
    }


def render_qualification_type(kind: QualificationType) -> dict[str, Any]:
    """Return a qualification type in the shape of the API."""
    return {
        "QualificationTypeId": kind.type_id,
        "CreationTime": epoch_seconds(kind.created_at),
        "Name": kind.name,
        "Description": kind.description,
        "Keywords": kind.keywords or None,
        "QualificationTypeStatus": kind.status,
        "IsRequestable": kind.is_requestable,
        "Test": kind.test or None,
        "AnswerKey": kind.answer_key or None,
        "TestDurationInSeconds": kind.test_seconds,
        "RetryDelayInSeconds": kind.retry_delay_seconds,
        "AutoGranted": kind.is_auto_granted,
        "AutoGrantedValue": kind.auto_granted_value if kind.is_auto_granted else None,
    }


def render_qualification_request(request: QualificationRequest) -> dict[str, Any]:
    """Return a worker's request in the shape of the API (type and worker loaded)."""
    return {
        "QualificationRequestId": request.request_id,
        "QualificationTypeId": request.qualification_type.type_id,
        "WorkerId": request.worker.worker_id,
        "Test": request.test or None,
        "Answer": request.answer or None,
        "SubmitTime": _time(request.submitted_at),
    }


def render_qualification(row: Qualification) -> dict[str, Any]:
    """Return what a worker holds in the shape of the API (type and worker loaded)."""
    return {
        "QualificationTypeId": row.qualification_type.type_id,
        "WorkerId": row.worker.worker_id,
        "GrantTime": epoch_seconds(row.granted_at),
        "IntegerValue": row.value,
        "Status": row.status,
    }


def _time(moment: datetime | None) -> float | None:
    return None if moment is None else epoch_seconds(moment)
