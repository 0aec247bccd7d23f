"""Data of the worker's Qualifications page."""

from dataclasses import dataclass
from datetime import datetime

from hits.marketplace.models import GrantStatus, Qualification, Worker, WorkerBlock

from .worker_profile import WorkerProfile, load_worker_profile


@dataclass(frozen=True)
class QualificationOverview:
    """A worker's held and revoked qualifications and the blocks by requesters, each newest first."""

    profile: WorkerProfile
    held: list[Qualification]
    revoked: list[Qualification]
    blocks: list[WorkerBlock]


def load_qualification_overview(worker: Worker, now: datetime) -> QualificationOverview:
    """Return the overview of one worker; the number of queries does not depend on the number of types."""
    profile = load_worker_profile(worker, now)
    # A deleted type opens no new work, so it is not listed.
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
