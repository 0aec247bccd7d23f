"""What a worker's page of qualifications shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hits.marketplace.models import GrantStatus, Qualification, Worker, WorkerBlock

from .worker_profile import WorkerProfile, load_worker_profile


@dataclass(frozen=True)
class QualificationOverview:
    """Held and taken away, each newest first, and the requesters who give this worker no new work."""

    profile: WorkerProfile
    held: list[Qualification]
    revoked: list[Qualification]
    blocks: list[WorkerBlock]


def load_qualification_overview(worker: Worker, now: datetime) -> QualificationOverview:
    """Return everything that the page shows of one worker; as many queries for ten types as for one."""
    profile = load_worker_profile(worker, now)
    # What was deleted by its requester opens nothing new: it is gone from here.
    rows = [row for row in profile.qualifications.values() if row.qualification_type.deleted_at is None]
    return QualificationOverview(
        profile=profile,
        held=sorted(
            (row for row in rows if row.status == GrantStatus.GRANTED),
            key=lambda row: row.granted_at,
            reverse=True,
        ),
        revoked=sorted(
            (row for row in rows if row.status == GrantStatus.REVOKED),
            key=lambda row: row.changed_at,
            reverse=True,
        ),
        blocks=sorted(profile.blocks.values(), key=lambda row: row.at, reverse=True),
    )
