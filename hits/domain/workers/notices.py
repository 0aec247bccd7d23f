"""What a worker is told of a decision about them, where the marketplace itself would not show the reason."""

from dataclasses import dataclass

from hits.domain.states import WorkerAction
from hits.domain.workers.qualification_pools import Pool

# Subjects that never vary, so that the worker site shows them in its reader's language.
PASSED = "You passed the qualification task."
PASSED_TRAINING_OPEN = "You passed the qualification task: its training is open to you."
NOT_PASSED = "Your qualification task was graded: you did not pass."
TRAINER_READY = "Your trainer answered: you are ready for the tasks."
TRAINER_AGAIN = "Your trainer answered: please try once more."
FIXED_SUBJECTS = frozenset({PASSED, PASSED_TRAINING_OPEN, NOT_PASSED, TRAINER_READY, TRAINER_AGAIN})
MAX_TEXT = 4096


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to one worker, within what Mechanical Turk takes (200 and 4096 characters)."""

    subject: str
    text: str


def notice_of(action: WorkerAction, pool: Pool | None, project: str, reason: str) -> Notice | None:
    """Return what to tell about a decision, or None where the worker reads the reason anyway or none is needed.

    A block and what was taken away carry their reason to the marketplace. The soft block is a grant, which has
    no field for one; its end and that of a block are good news that nothing else tells, and so is a compensation.
    """
    if action is WorkerAction.UNBLOCK:
        return Notice(f"You are no longer blocked from the tasks of {project}", reason)
    if pool is Pool.COMPENSATION and action is WorkerAction.GRANT:
        return Notice(f"A task of {project} pays you for work that did not get through", reason)
    if pool is not Pool.EXCLUDED:
        return None
    if action is WorkerAction.GRANT:
        still = "Work that you have in hand may still be finished, and it is still paid."
        return Notice(f"You get no new tasks of {project} for now", f"{reason}\n\n{still}")
    if action is WorkerAction.REVOKE:
        return Notice(f"Tasks of {project} are open to you again", reason)
    return None


def text_of(*paragraphs: str) -> str:
    """Return the paragraphs that hold something as one message, cut where Mechanical Turk would refuse it."""
    text = "\n\n".join(part for part in paragraphs if part)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
