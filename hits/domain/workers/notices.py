"""Notices to workers about decisions whose reason the marketplace does not show."""

from dataclasses import dataclass

from hits.domain.answers.text import shorten_text
from hits.domain.states import WorkerAction
from hits.domain.workers.qualification_pools import Pool

# Fixed subjects, which the worker site can translate.
PASSED = "You passed the qualification task."
PASSED_TRAINING_OPEN = "You passed the qualification task: its training is open to you."
NOT_PASSED = "Your qualification task was graded: you did not pass."
TRAINER_READY = "Your trainer answered: you are ready for the tasks."
TRAINER_RETRY = "Your trainer answered: please try again."
ADVICE = "Another worker read your work and advises you."
SCENE_DECIDED = "A decision was made about a scene that you wrote."
EARLIER_TRAINER_RETRY = "Your trainer answered: please try once more."  # of messages sent by earlier releases
FIXED_SUBJECTS = frozenset(
    {
        PASSED,
        PASSED_TRAINING_OPEN,
        NOT_PASSED,
        TRAINER_READY,
        TRAINER_RETRY,
        ADVICE,
        SCENE_DECIDED,
        EARLIER_TRAINER_RETRY,
    }
)
MAX_TEXT = 4096


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to one worker, within Mechanical Turk's limits (200 and 4096 characters)."""

    subject: str
    text: str


def worker_decision_notice(
    action: WorkerAction, pool: Pool | None, project: str, reason: str
) -> Notice | None:
    """Return the notice about a decision, or None if the marketplace shows the reason or none is needed.

    The marketplace shows the reason of a block or a revocation. The soft block is a grant, which has no field for a
    reason. The end of a block or soft block and a compensation need a notice, because nothing else reports them.
    """
    if action is WorkerAction.UNBLOCK:
        return Notice(f"You are no longer blocked from the tasks of {project}", reason)
    if pool is Pool.COMPENSATION and action is WorkerAction.GRANT:
        return Notice(f"A task of {project} pays you for lost work", reason)
    if pool is not Pool.EXCLUDED:
        return None
    if action is WorkerAction.GRANT:
        assurance = "You may still finish tasks that you accepted, and they are still paid."
        return Notice(f"You get no new tasks of {project} for now", f"{reason}\n\n{assurance}")
    if action is WorkerAction.REVOKE:
        return Notice(f"Tasks of {project} are open to you again", reason)
    return None


def join_and_cut_paragraphs(*paragraphs: str) -> str:
    """Return the non-empty paragraphs as one message, cut at Mechanical Turk's limit."""
    return shorten_text("\n\n".join(paragraph for paragraph in paragraphs if paragraph), MAX_TEXT)
