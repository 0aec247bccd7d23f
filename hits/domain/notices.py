"""What a worker is told of a decision about them, where the marketplace itself would not show the reason."""

from dataclasses import dataclass

from hits.domain.pool import Pool
from hits.domain.states import WorkerAction


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
