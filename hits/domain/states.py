"""Enumerations of roles, purposes and states."""

from enum import StrEnum


class Role(StrEnum):
    """The role of a user in one project. An annotator is a marketplace worker who gave consent."""

    ANNOTATOR = "annotator"
    RESEARCHER = "researcher"
    ADMIN = "admin"


class Purpose(StrEnum):
    """The purpose of a HIT kind."""

    COLLECTING = "collecting"
    JUDGING = "judging"
    QUALIFYING = "qualifying"  # graded, never part of a dataset
    TRAINING = "training"  # answered with feedback, never part of a dataset
    COMPENSATING = "compensating"  # pays one worker for lost work, never part of a dataset


class BatchState(StrEnum):
    """Life cycle of a batch: launching → live → closing → closed, or launching → closing → closed."""

    LAUNCHING = "launching"
    LIVE = "live"
    CLOSING = "closing"
    CLOSED = "closed"


class HitState(StrEnum):
    """Life cycle of one HIT on our side; ``intent`` is committed before the marketplace is called."""

    PLANNED = "planned"
    INTENT = "intent"
    LIVE = "live"
    EXPIRED = "expired"
    CANCELLED = "cancelled"  # the batch was closed before this one was published


class SubmissionMatch(StrEnum):
    """Whether an assignment on the marketplace matches the submission that our page stored."""

    MATCHED = "matched"
    MARKETPLACE_ONLY = "marketplace_only"
    MISMATCH = "mismatch"


class MismatchRemedy(StrEnum):
    """A person's decision about work on which our rows and the marketplace differ."""

    APPROVE = "approve"  # paid as on the marketplace, although our copy is missing or differs
    REJECT = "reject"
    COMPENSATE = "compensate"  # a HIT for this worker only, since the marketplace has nothing to pay
    KEEP = "keep"  # checked, nothing to do


class AssignmentStatus(StrEnum):
    """The marketplace's three states, spelled as in its API."""

    SUBMITTED = "Submitted"
    APPROVED = "Approved"
    REJECTED = "Rejected"


class ReviewVerdict(StrEnum):
    """A reviewer's decision about one assignment."""

    APPROVE = "approve"
    REJECT = "reject"


class TrainingOutcome(StrEnum):
    """A trainer's decision about an attempt."""

    RETRY = "again"
    COMPLETE = "complete"


class WorkerAction(StrEnum):
    """A decision about a worker. A grant of the exclusion qualification is the soft block."""

    GRANT = "grant"
    REVOKE = "revoke"
    BLOCK = "block"
    UNBLOCK = "unblock"


class UnitScope(StrEnum):
    """The scope in which a worker does a unit only once."""

    BATCH = "batch"
    PROJECT = "project"  # also not in another batch of the same kind


class CallState(StrEnum):
    """Life cycle of one outgoing marketplace call that moves money or a decision."""

    PLANNED = "planned"
    INTENT = "intent"
    DONE = "done"
    REFUSED = "refused"


class JobState(StrEnum):
    """Life cycle of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """Split into sub-jobs; it continues when the last of them is done."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_JOB_STATES = (JobState.QUEUED, JobState.RUNNING, JobState.WAITING)
STOPPED_JOB_STATES = (JobState.FAILED, JobState.CANCELLED)
OPEN_CALL_STATES = (CallState.PLANNED, CallState.INTENT)
UNPUBLISHED_HIT_STATES = (HitState.PLANNED, HitState.INTENT)
