"""The qualifications that every project has, and their descriptions for workers."""

from enum import StrEnum


class Pool(StrEnum):
    """The qualifications of a worker in a project (Hessel et al. 2022 §A.1: qualified, then trained)."""

    APPLIED = "applied"
    QUALIFIED = "qualified"
    TRAINED = "trained"
    WORK_REVIEWERS = "work-reviewers"  # may review other workers' submissions; granted by hand
    EXCLUDED = "excluded"  # the soft block: holders get no new work
    COMPENSATION = "compensation"  # the value identifies the worker whom the task pays


DESCRIPTIONS = {
    Pool.APPLIED: "You submitted this project's qualification task. It can be taken once.",
    Pool.QUALIFIED: "Granted after this project's qualification task if enough of your pairs are reasonable.",
    Pool.TRAINED: "Granted after this project's training task if a trainer decides that you are ready.",
    Pool.WORK_REVIEWERS: (
        "Granted by this project's researchers to workers whose own work is outstanding. It opens tasks in which "
        "they review other workers' work."
    ),
    Pool.EXCLUDED: (
        "Held by workers who get no new tasks of this project for now. Accepted tasks are still paid. "
        "When it is taken away, the tasks are open again."
    ),
    Pool.COMPENSATION: "Held by a worker whose work was lost. It opens the task that pays for that work.",
}


def qualification_name(project_slug: str, pool: Pool) -> str:
    """Return the name on the marketplace; it is unique because the project's short name is."""
    return f"{project_slug}: {pool.value}"
