"""States as words, and which may follow which."""

from enum import StrEnum


class Role(StrEnum):
    """What somebody may do in one project. An annotator is a consented marketplace worker."""

    ANNOTATOR = "annotator"
    RESEARCHER = "researcher"
    ADMIN = "admin"


class Purpose(StrEnum):
    """What a HIT kind is for."""

    COLLECTING = "collecting"
    JUDGING = "judging"
    QUALIFYING = "qualifying"  # graded, and never part of a dataset
    TRAINING = "training"  # answered with feedback, and never part of a dataset
    COMPENSATING = (
        "compensating"  # pays one worker for work that did not get through, and never part of a dataset
    )


class BatchState(StrEnum):
    """Life of a batch: launching → live → closing → closed, and from launching straight to closing."""

    LAUNCHING = "launching"
    LIVE = "live"
    CLOSING = "closing"
    CLOSED = "closed"


class HitState(StrEnum):
    """Life of one HIT on our side; ``intent`` is committed before the marketplace is called."""

    PLANNED = "planned"
    INTENT = "intent"
    LIVE = "live"
    EXPIRED = "expired"
    CANCELLED = "cancelled"  # the batch was closed before this one was published


class Match(StrEnum):
    """How an assignment that the marketplace shows compares with what our page stored."""

    MATCHED = "matched"
    MARKETPLACE_ONLY = "marketplace_only"
    MISMATCH = "mismatch"


class Remedy(StrEnum):
    """What a person did about work that our rows and the marketplace's do not agree on."""

    APPROVE = "approve"  # paid as the marketplace shows it, although our copy is missing or differs
    REJECT = "reject"
    COMPENSATE = "compensate"  # a HIT for this worker alone, since the marketplace shows nothing to pay
    KEEP = "keep"  # looked at, and nothing to do


class AssignmentStatus(StrEnum):
    """The marketplace's three words, spelled as on the wire."""

    SUBMITTED = "Submitted"
    APPROVED = "Approved"
    REJECTED = "Rejected"


class Verdict(StrEnum):
    """A reviewer's decision about one assignment."""

    APPROVE = "approve"
    REJECT = "reject"


class TrainingOutcome(StrEnum):
    """What a trainer says of an attempt."""

    AGAIN = "again"
    COMPLETE = "complete"


class WorkerAction(StrEnum):
    """What may be decided about a worker. A grant of the exclusion qualification is the soft block."""

    GRANT = "grant"
    REVOKE = "revoke"
    BLOCK = "block"
    UNBLOCK = "unblock"


class UnitScope(StrEnum):
    """Within what one worker does one unit once."""

    BATCH = "batch"
    PROJECT = "project"  # also not again in another batch of the same kind


class CallState(StrEnum):
    """Life of one outgoing marketplace call that moves money or a decision."""

    PLANNED = "planned"
    INTENT = "intent"
    DONE = "done"
    REFUSED = "refused"


class JobState(StrEnum):
    """Life of a long piece of work."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """Split into parts, which are jobs of their own; it goes on when the last of them is done."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_JOB_STATES = (JobState.QUEUED, JobState.RUNNING, JobState.WAITING)
STOPPED_JOB_STATES = (JobState.FAILED, JobState.CANCELLED)
OPEN_CALL_STATES = (CallState.PLANNED, CallState.INTENT)
UNPUBLISHED_HIT_STATES = (HitState.PLANNED, HitState.INTENT)
