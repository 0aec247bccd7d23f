"""The status of a worker in a project, and the measures of worker rules."""

from enum import StrEnum


class WorkerStatus(StrEnum):
    """A worker's status in a project. None, applied and active follow from submissions; people decide the others."""

    NONE = "none"
    APPLIED = "applied"
    DECLINED = "declined"  # failed the qualification
    QUALIFIED = "qualified"
    TRAINED = "trained"
    ACTIVE = "active"
    PAUSED = "paused"  # has the exclusion qualification, so gets no new work; researchers can undo it
    DEQUALIFIED = "dequalified"  # as paused; also, the worker pools' qualifications are revoked
    BLOCKED = "blocked"  # blocked at the marketplace; only admins can do it


# No person sets these: they follow from submissions.
DERIVED_STATUSES = frozenset({WorkerStatus.NONE, WorkerStatus.APPLIED})
# Workers with these statuses get no new tasks.
EXCLUDED_STATUSES = frozenset({WorkerStatus.PAUSED, WorkerStatus.DEQUALIFIED, WorkerStatus.BLOCKED})


class Measure(StrEnum):
    """A figure over a worker's last items that a rule compares with its limit."""

    ACCEPTABLE_SHARE = "acceptable_share"  # of validated pairs: judged reasonable by most judges
    BOXES_SHARE = "boxes_share"  # of validated pairs: boxes judged appropriate by most judges
    APPROVED_SHARE = "approved_share"  # of decided submissions
    REVIEWED_SHARE = "reviewed_share"  # of reviewed records: without an error that other workers found
    CENTS_PER_HOUR = "cents_per_hour"  # median; the limit is a maximum, against rushing
    GOLD_SHARE = "gold_share"  # of answers to gold items: as expected
    ATTENTION_SHARE = "attention_share"  # of answers to attention checks: as expected
    REPEAT_SHARE = "repeat_share"  # of labels of repeated units: equal both times
    PACE_SHARE = "pace_share"  # of judgments: not far faster than all workers' judgments
    VARIED_SHARE = "varied_share"  # of judgments: not part of a long run of one answer
    ORIGINAL_SHARE = "original_share"  # of written pairs: no copy or near copy of an earlier text


class ProposalState(StrEnum):
    """The state of a rule's proposal."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DISMISSED = "dismissed"
