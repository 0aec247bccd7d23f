"""The qualifications that every project has, and what a worker reads about them."""

from enum import StrEnum


class Pool(StrEnum):
    """What a worker may hold in a project (Sherlock, paper 000 A.1: qualified, then trained)."""

    APPLIED = "applied"
    QUALIFIED = "qualified"
    TRAINED = "trained"
    EXCLUDED = "excluded"  # the soft block: held by those who get no new work
    COMPENSATION = "compensation"  # the value names the worker whom such a task is for


DESCRIPTIONS = {
    Pool.APPLIED: "You handed in this project's qualification task. It can be taken once.",
    Pool.QUALIFIED: "Granted after this project's qualification task, when enough of your pairs are reasonable.",
    Pool.TRAINED: "Granted after this project's training task, when a trainer says that you are ready.",
    Pool.EXCLUDED: (
        "Held by workers who get no new tasks of this project at present. Work in hand is still paid. "
        "When it is taken away, the tasks are open again."
    ),
    Pool.COMPENSATION: "Held by a worker whose work did not get through. It opens the task that pays for it.",
}


def qualification_name(project_slug: str, pool: Pool) -> str:
    """Return the name on the marketplace, unique there because the project's short name is unique."""
    return f"{project_slug}: {pool.value}"
