"""What a worker's page of qualifications shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hits.marketplace.models import GrantStatus, Qualification, Worker, WorkerBlock

from .standing import Standing, standing_of


@dataclass(frozen=True)
class Shown:
    """Held and taken away, each newest first, and the requesters who give this worker no new work."""

    standing: Standing
    held: list[Qualification]
    taken: list[Qualification]
    blocks: list[WorkerBlock]


def shown_holdings(worker: Worker, now: datetime) -> Shown:
    """Return everything that the page shows of one worker; as many queries for ten types as for one."""
    standing = standing_of(worker, now)
    # What was deleted by its requester opens nothing new: it is gone from here.
    rows = [row for row in standing.qualifications.values() if row.qualification_type.deleted_at is None]
    return Shown(
        standing=standing,
        held=sorted(
            (row for row in rows if row.status == GrantStatus.GRANTED),
            key=lambda row: row.granted_at,
            reverse=True,
        ),
        taken=sorted(
            (row for row in rows if row.status == GrantStatus.REVOKED),
            key=lambda row: row.changed_at,
            reverse=True,
        ),
        blocks=sorted(standing.blocks.values(), key=lambda row: row.at, reverse=True),
    )
