"""What a batch pays and who may do it: the terms of a launch, and their limits."""

from dataclasses import dataclass

from hits.domain.money.usd import format_bare_usd
from hits.domain.states import UnitScope
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator, GuardedActions
from hits.kind import HitKind
from hits.models import Instructions
from hits.services.errors import Refused

MAX_CENTS = 100_000  # a thousand dollars for one task is a typing error
# Seconds for a task, as the marketplace's model has them.
MIN_DURATION_SECONDS, MAX_DURATION_SECONDS = 30, 31_536_000
MAX_REDUNDANCY = 100  # per unit; more than nine workers need several HITs


@dataclass(frozen=True, slots=True)
class PlannedRequirement:
    """One requirement for the tasks: about a pool qualification, or (``pool`` None) about the country."""

    pool: Pool | None
    comparator: Comparator
    values: tuple[int | str, ...] = ()
    guards: GuardedActions = GuardedActions.PREVIEW


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Who may do a batch's tasks, and the instructions that they see.

    Workers with the exclusion qualification never get them. ``worker_limit`` is the most that one worker may submit.
    ``instructions`` is the version on the pages, ``None`` the kind's built-in text.
    """

    requirements: tuple[PlannedRequirement, ...] = ()
    worker_limit: int | None = None
    instructions: Instructions | None = None


NOT_EXCLUDED = PlannedRequirement(Pool.EXCLUDED, Comparator.DOES_NOT_EXIST)


@dataclass(frozen=True, slots=True)
class LaunchTerms:
    """What a batch pays and who may do it; ``None`` means the kind's default.

    ``confirmed_cents`` is the cost that a person typed, which a live marketplace and a sum above the project's
    threshold require. ``available_cents`` is the account's balance just before the launch, ``None`` if unknown.
    ``budget_cap_cents`` is the most that the batch may ever cost, ``None`` for no cap.
    """

    reward_cents: int | None = None
    bonus_cents: int | None = None
    redundancy: int | None = None
    confirmed_cents: int | None = None
    eligibility: Eligibility = Eligibility()
    masters_only: bool = False
    budget_cap_cents: int | None = None
    unit_scope: UnitScope = UnitScope.BATCH
    available_cents: int | None = None
    duration_seconds: int | None = None  # time of a worker for a task


def resolve_pay_and_redundancy(kind: HitKind, terms: LaunchTerms) -> tuple[int, int, int]:
    """Return reward and bonus in cents and the redundancy of a launch; the kind gives the defaults.

    Raises Refused with the field's name and the allowed range.
    """
    reward = kind.reward_cents if terms.reward_cents is None else terms.reward_cents
    bonus = kind.bonus_cents if terms.bonus_cents is None else terms.bonus_cents
    redundancy = kind.redundancy if terms.redundancy is None else terms.redundancy
    if (
        terms.duration_seconds is not None
        and not MIN_DURATION_SECONDS <= terms.duration_seconds <= MAX_DURATION_SECONDS
    ):
        raise Refused("duration: use 30 seconds to 365 days")
    if not 1 <= reward <= MAX_CENTS:
        raise Refused(f"reward: use at least 1 cent and at most {format_bare_usd(MAX_CENTS)}")
    if not 0 <= bonus <= MAX_CENTS:
        raise Refused(f"bonus: use 0 cents to {format_bare_usd(MAX_CENTS)}")
    if not 1 <= redundancy <= MAX_REDUNDANCY:
        raise Refused(f"workers per item: use 1 to {MAX_REDUNDANCY}")
    return reward, bonus, redundancy
