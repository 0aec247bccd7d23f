"""Rows. No module here imports another layer above it; writes happen in services."""

from hits.models.batches import Batch, Hit, Unit
from hits.models.images import Image
from hits.models.jobs import Heartbeat, Job
from hits.models.people import ConsentText, Participation, Worker
from hits.models.projects import AuditEvent, Membership, Project
from hits.models.submissions import (
    Assignment,
    Attempt,
    Decision,
    Draft,
    Observation,
    OutgoingCall,
    Submission,
)

__all__ = [
    "Assignment",
    "Attempt",
    "AuditEvent",
    "Batch",
    "ConsentText",
    "Decision",
    "Draft",
    "Heartbeat",
    "Hit",
    "Image",
    "Job",
    "Membership",
    "Observation",
    "OutgoingCall",
    "Participation",
    "Project",
    "Submission",
    "Unit",
    "Worker",
]
