"""Rows. No module here imports another layer above it; writes happen in services."""

from hits.models.batches import Batch, Hit, Unit
from hits.models.images import Image
from hits.models.instructions import Instructions
from hits.models.jobs import Heartbeat, Job
from hits.models.people import ConsentText, Declaration, Demographics, Participation, Worker
from hits.models.projects import AuditEvent, Membership, Project
from hits.models.qualifications import BatchRequirement, Qualification, WorkerCall, WorkerDecision
from hits.models.submissions import (
    Assignment,
    Attempt,
    Decision,
    Draft,
    Feedback,
    Observation,
    OutgoingCall,
    Submission,
)

__all__ = [
    "Assignment",
    "Attempt",
    "AuditEvent",
    "Batch",
    "BatchRequirement",
    "ConsentText",
    "Decision",
    "Declaration",
    "Demographics",
    "Draft",
    "Feedback",
    "Heartbeat",
    "Hit",
    "Image",
    "Instructions",
    "Job",
    "Membership",
    "Observation",
    "OutgoingCall",
    "Participation",
    "Project",
    "Qualification",
    "Submission",
    "Unit",
    "Worker",
    "WorkerCall",
    "WorkerDecision",
]
