"""Rows of the wire as the platform's own words, and the other way. Times become aware UTC here."""

from datetime import UTC, datetime
from typing import Any

from hits.mturk.port import QualificationRequirement, RemoteAssignment, RemoteHit


def requirement_row(row: QualificationRequirement) -> dict[str, Any]:
    """Return one condition of a HIT type as the wire has it."""
    wire: dict[str, Any] = {
        "QualificationTypeId": row.type_id,
        "Comparator": row.comparator.value,
        "ActionsGuarded": row.guards.value,
    }
    if row.integer_values:
        wire["IntegerValues"] = list(row.integer_values)
    if row.locales:
        wire["LocaleValues"] = [{"Country": code} for code in row.locales]
    return wire


def assignment_of(row: dict[str, Any]) -> RemoteAssignment:
    """Return one submitted assignment as the platform sees it."""
    return RemoteAssignment(
        assignment_id=row["AssignmentId"],
        worker_id=row["WorkerId"],
        hit_id=row["HITId"],
        status=row["AssignmentStatus"],
        accepted_at=_utc(row.get("AcceptTime")),
        submitted_at=_utc_required(row["SubmitTime"]),
        auto_approves_at=_utc(row.get("AutoApprovalTime")),
        answer_xml=row.get("Answer", ""),
    )


def hit_of(row: dict[str, Any]) -> RemoteHit:
    """Return one HIT as the platform sees it."""
    return RemoteHit(
        hit_id=row["HITId"],
        annotation=row.get("RequesterAnnotation", ""),
        status=row["HITStatus"],
        max_assignments=row["MaxAssignments"],
        pending=row["NumberOfAssignmentsPending"],
        available=row["NumberOfAssignmentsAvailable"],
        completed=row["NumberOfAssignmentsCompleted"],
        expires_at=_utc_required(row["Expiration"]),
    )


def _utc(value: datetime | None) -> datetime | None:
    return value.astimezone(UTC) if value else None


def _utc_required(value: datetime) -> datetime:
    return value.astimezone(UTC)
