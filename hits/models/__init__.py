"""Database rows. These modules import no layer above them; services write the rows."""

from hits.models.batches import Batch, Extension, Hit, Unit
from hits.models.calls import OutgoingCall, TopUp
from hits.models.images import Image
from hits.models.instructions import Instructions
from hits.models.jobs import Heartbeat, Job, JobLine
from hits.models.people import ConsentText, Declaration, Demographics, Participation, Worker
from hits.models.projects import AuditEvent, Membership, Project
from hits.models.qualifications import BatchRequirement, Qualification, WorkerCall, WorkerDecision
from hits.models.reconciliation import MarketplaceEvent, Reconciliation, Resolution
from hits.models.records import Record, RecordImage
from hits.models.submissions import (
    Assignment,
    Attempt,
    Decision,
    Draft,
    Feedback,
    Submission,
)
from hits.models.task_templates import TaskTemplate
from hits.models.unit_files import UnitFile
