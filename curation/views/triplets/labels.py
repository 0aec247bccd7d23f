"""Words of the pages about image triplets for stored values."""

from collections.abc import Mapping

from curation.models import PromptWay, SceneReason, SceneVerdict
from curation.selectors.triplets.prompt_queue import PromptQueueState
from curation.selectors.triplets.scene_queue import QueueState
from hits.domain.answers.evidence import humanize
from hits.domain.answers.scene_facets import CATEGORIES, PARALLEL, TEMPORAL_CELLS

QUEUE_LABELS: Mapping[QueueState, str] = {
    QueueState.WAITING: "Waiting for you",
    QueueState.OTHERS: "Waiting for another reader",
    QueueState.DISAGREED: "To settle",
    QueueState.KEPT: "Kept",
    QueueState.TO_REVISE: "To revise",
    QueueState.DROPPED: "Dropped",
    QueueState.REPLACED: "Revised",
}
# The modifier of the badge, and its icon.
QUEUE_BADGES: Mapping[QueueState, tuple[str, str]] = {
    QueueState.WAITING: ("info", "eye"),
    QueueState.OTHERS: ("", "clock"),
    QueueState.DISAGREED: ("warn", "alert"),
    QueueState.KEPT: ("ok", "ok"),
    QueueState.TO_REVISE: ("warn", "draw"),
    QueueState.DROPPED: ("bad", "x"),
    QueueState.REPLACED: ("", "next"),
}
VERDICT_LABELS: Mapping[str, str] = {
    SceneVerdict.KEEP: "Keep",
    SceneVerdict.DROP: "Drop",
    SceneVerdict.REVISE: "Revise",
    SceneVerdict.UNDONE: "Took the verdict back",
}
# Label, key, and what it means.
REASONS: Mapping[SceneReason, tuple[str, str, str]] = {
    SceneReason.PREMISE_NECESSITY: ("Premise not needed", "P", "one can choose without the premise"),
    SceneReason.VISUAL_RELEVANCE: ("Cannot be drawn", "V", "pictures do not show the difference"),
    SceneReason.UNIQUENESS: ("Not new", "N", "it repeats another scene"),
    SceneReason.UNSAFE: ("Not suitable", "S", "not fit for every worker and reader"),
    SceneReason.UNCLEAR: ("Not clear", "C", "its texts can be read in several ways"),
    SceneReason.OTHER: ("Another reason", "O", "say which in the note"),
}
REASON_LABELS: Mapping[str, str] = {reason.value: label for reason, (label, _, _) in REASONS.items()}
CATEGORY_LABELS: Mapping[str, str] = {name: humanize(name) for name in CATEGORIES}
CELL_LABELS: Mapping[str, str] = {cell: cell.replace("-", ", ").capitalize() for cell in TEMPORAL_CELLS}
CELL_INITIALS: Mapping[str, str] = {
    cell: "P" if cell == PARALLEL else " ".join(part[0] for part in cell.split("-")).capitalize()
    for cell in TEMPORAL_CELLS
}
WAY_LABELS: Mapping[str, str] = {
    PromptWay.PLAIN: "Own texts",
    PromptWay.AUGMENTED: "Chat model",
    PromptWay.MANUAL: "By hand",
}
PROMPT_STATE_LABELS: Mapping[PromptQueueState, str] = {
    PromptQueueState.MISSING: "Without prompts",
    PromptQueueState.WAITING: "Waiting for approval",
    PromptQueueState.APPROVED: "Approved",
    PromptQueueState.REJECTED: "Rejected",
}
PROMPT_STATE_BADGES: Mapping[PromptQueueState, tuple[str, str]] = {
    PromptQueueState.MISSING: ("", "draw"),
    PromptQueueState.WAITING: ("info", "eye"),
    PromptQueueState.APPROVED: ("ok", "ok"),
    PromptQueueState.REJECTED: ("bad", "x"),
}
ROLE_LABELS: Mapping[str, str] = {
    "premise": "Premise",
    "plausible": "More plausible",
    "implausible": "Less plausible",
}


def domain_label(name: str) -> str:
    """Return a domain as people read it: its first letter is a capital one."""
    return name[:1].upper() + name[1:]
