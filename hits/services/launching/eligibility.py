"""Build a batch's eligibility from the values of the launch form or the command line."""

from collections.abc import Sequence

from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import MASTERS, MASTERS_SANDBOX, MAX_LOCALES, Comparator, Requirement
from hits.models import Batch, Instructions
from hits.services.errors import Refused
from hits.services.launching.terms import Eligibility, PlannedRequirement

SELECTABLE_POOLS = (Pool.QUALIFIED, Pool.TRAINED)  # pools that can be required
SHERLOCK_COUNTRIES = ("US", "CA", "GB", "AU")  # where the workers of Sherlock were (Hessel et al. 2022 §A.1)


def build_eligibility(
    *,
    pool: Pool | None = None,
    countries: Sequence[str] = (),
    worker_limit: int | None = None,
    instructions: Instructions | None = None,
) -> Eligibility:
    """Return the eligibility of a batch: all workers who are not excluded, unless an argument narrows it.

    Raises:
        Refused: more countries than a marketplace accepts.
    """
    requirements = []
    if pool is not None:
        requirements.append(PlannedRequirement(pool, Comparator.EXISTS))
    if len(countries) > MAX_LOCALES:
        raise Refused(
            f"countries: {len(countries)} are named; name at most {MAX_LOCALES}, or leave all countries open"
        )
    if countries:
        requirements.append(PlannedRequirement(None, Comparator.IN, tuple(countries)))
    return Eligibility(tuple(requirements), worker_limit, instructions)


def masters_requirements(batch: Batch) -> tuple[Requirement, ...]:
    """Return the Masters requirement if the batch is for Masters only, otherwise an empty tuple."""
    if not batch.masters_only:
        return ()
    return (
        Requirement(MASTERS_SANDBOX if batch.environment == "aws-sandbox" else MASTERS, Comparator.EXISTS),
    )
