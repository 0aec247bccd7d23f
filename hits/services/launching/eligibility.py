"""Say who may do a batch's tasks in the words of the launch form and of the command line."""

from collections.abc import Sequence

from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import MASTERS, MASTERS_SANDBOX, MAX_LOCALES, Comparator, Requirement
from hits.models import Batch, Instructions
from hits.services.errors import Refused
from hits.services.launching.terms import Access, Condition

ASKED_FOR = (Pool.QUALIFIED, Pool.TRAINED)  # the pools that a batch may be kept for
PAPER_COUNTRIES = ("US", "CA", "GB", "AU")  # where the workers of Sherlock were (paper 000, A.1)


def access_for(
    *,
    pool: Pool | None = None,
    countries: Sequence[str] = (),
    worker_limit: int | None = None,
    instructions: Instructions | None = None,
) -> Access:
    """Return the access of a batch: everybody who is not excluded, unless something narrows it.

    Raises:
        Refused: more countries than a marketplace takes.
    """
    conditions = []
    if pool is not None:
        conditions.append(Condition(pool, Comparator.EXISTS))
    if len(countries) > MAX_LOCALES:
        raise Refused(
            f"countries: there are {len(countries)}; name {MAX_LOCALES} or fewer, or leave all countries open"
        )
    if countries:
        conditions.append(Condition(None, Comparator.IN, tuple(countries)))
    return Access(tuple(conditions), worker_limit, instructions)


def masters_condition(batch: Batch) -> tuple[Requirement, ...]:
    """Return the condition that keeps a batch for Masters, as its marketplace is told it; none for other batches."""
    if not batch.masters_only:
        return ()
    return (
        Requirement(MASTERS_SANDBOX if batch.environment == "aws-sandbox" else MASTERS, Comparator.EXISTS),
    )
