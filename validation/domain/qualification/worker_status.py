"""Where a worker stands in a project, and the measures that rules may look at."""

from enum import StrEnum


class WorkerStatus(StrEnum):
    """A worker's place in a project. Applied and active follow from what was submitted; the rest is decided."""

    NONE = "none"
    APPLIED = "applied"
    DECLINED = "declined"  # the qualification was graded and not passed
    QUALIFIED = "qualified"
    TRAINED = "trained"
    ACTIVE = "active"
    PAUSED = "paused"  # the exclusion qualification is held: no new work, reversible by a researcher
    DEQUALIFIED = "dequalified"  # the same, and the pool's qualifications are taken away
    BLOCKED = "blocked"  # the marketplace's own block: admins only


DERIVED_STATUSES = frozenset(
    {WorkerStatus.NONE, WorkerStatus.APPLIED}
)  # never decided: they follow from what came in
EXCLUDED_STATUSES = frozenset(
    {WorkerStatus.PAUSED, WorkerStatus.DEQUALIFIED, WorkerStatus.BLOCKED}
)  # no new tasks


class Measure(StrEnum):
    """A figure of one worker that a rule compares, over the worker's last so many items."""

    ACCEPTABLE_SHARE = "acceptable_share"  # of validated pairs: judged reasonable by most judges
    BOXES_SHARE = "boxes_share"  # of validated pairs: boxes judged appropriate by most judges
    APPROVED_SHARE = "approved_share"  # of decided submissions
    CENTS_PER_HOUR = "cents_per_hour"  # median; a floor against rushing is a ceiling here
    GOLD_SHARE = "gold_share"  # of units with a known answer: answered so
    ATTENTION_SHARE = "attention_share"  # of units that nobody who looks gets wrong: answered right
    REPEAT_SHARE = "repeat_share"  # of units met twice: answered alike
    PACE_SHARE = "pace_share"  # of judgments: not far faster than everybody's
    VARIED_SHARE = "varied_share"  # of judgments: not part of a long run of one answer
    ORIGINAL_SHARE = "original_share"  # of written pairs: no copy, or near copy, of an earlier text


class ProposalState(StrEnum):
    """What became of a rule's proposal."""

    OPEN = "open"
    ACCEPTED = "accepted"
    DISMISSED = "dismissed"
