"""Convert rows of the wire format to the platform's types, and back. Times become aware UTC."""

from datetime import UTC, datetime
from typing import Any

from hits.domain.workers.requirements import Requirement
from hits.mturk.port import RemoteAssignment, RemoteHit


def render_requirement(row: Requirement) -> dict[str, Any]:
    """Return one requirement of a HIT type in the wire format."""
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


def parse_assignment(row: dict[str, Any]) -> RemoteAssignment:
    """Return one submitted assignment as the platform's type."""
    return RemoteAssignment(
        assignment_id=row["AssignmentId"],
        worker_id=row["WorkerId"],
        status=row["AssignmentStatus"],
        accepted_at=_to_utc(row.get("AcceptTime")),
        submitted_at=row["SubmitTime"].astimezone(UTC),
        auto_approves_at=_to_utc(row.get("AutoApprovalTime")),
        answer_xml=row.get("Answer", ""),
    )


def parse_hit(row: dict[str, Any]) -> RemoteHit:
    """Return one HIT as the platform's type."""
    return RemoteHit(
        hit_id=row["HITId"],
        annotation=row.get("RequesterAnnotation", ""),
        status=row["HITStatus"],
        max_assignments=row["MaxAssignments"],
        expires_at=row["Expiration"].astimezone(UTC),
    )


def _to_utc(value: datetime | None) -> datetime | None:
    return value.astimezone(UTC) if value else None
