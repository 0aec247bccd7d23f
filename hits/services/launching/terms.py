"""What a batch pays and who may do it: the terms of a launch, and their limits."""

from dataclasses import dataclass

from hits.domain.money.usd import format_usd
from hits.domain.states import UnitScope
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator, Guards
from hits.kind import HitKind
from hits.models import Instructions
from hits.services.errors import Refused

MOST_CENTS = 100_000  # a thousand dollars for one task is a slip of the finger
SHORTEST, LONGEST = 30, 31_536_000  # seconds for a task, as the marketplace's model has them
MAX_OPINIONS = 100  # of one unit; more than nine come as several HITs


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition for taking the tasks: about a pool qualification, or (``pool`` None) about the country."""

    pool: Pool | None
    comparator: Comparator
    values: tuple[int | str, ...] = ()
    guards: Guards = Guards.PREVIEW


@dataclass(frozen=True, slots=True)
class Access:
    """Who may do a batch's tasks, and what they are told.

    Those who hold the exclusion qualification get none of them, whatever stands here. ``worker_limit`` is the most
    that one worker may hand in; ``instructions`` is the version that pages show, ``None`` the kind's own text.
    """

    conditions: tuple[Condition, ...] = ()
    worker_limit: int | None = None
    instructions: Instructions | None = None


NOT_EXCLUDED = Condition(Pool.EXCLUDED, Comparator.DOES_NOT_EXIST)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a batch pays, and who may do it; ``None`` takes the kind's own value.

    ``confirmed_cents`` is the cost that a person typed; a live marketplace, or a sum above the project's threshold,
    takes no batch without it. ``available_cents`` is what the account had when it was asked just before the launch,
    ``None`` when nobody knows. ``budget_cap_cents`` is the most that the batch may ever cost, ``None`` for no cap.
    """

    reward_cents: int | None = None
    bonus_cents: int | None = None
    opinions: int | None = None
    confirmed_cents: int | None = None
    access: Access = Access()
    masters_only: bool = False
    budget_cap_cents: int | None = None
    unit_scope: UnitScope = UnitScope.BATCH
    available_cents: int | None = None
    duration_seconds: int | None = None  # that a worker has for a task


def checked_terms(kind: HitKind, terms: Terms) -> tuple[int, int, int]:
    """Return reward and bonus in cents and the redundancy of a launch, the kind's own where ``terms`` name none.

    Raises Refused with the field's name, what is wrong with it, and what is allowed.
    """
    reward = kind.reward_cents if terms.reward_cents is None else terms.reward_cents
    bonus = kind.bonus_cents if terms.bonus_cents is None else terms.bonus_cents
    each = kind.assignments_per_hit if terms.opinions is None else terms.opinions
    if terms.duration_seconds is not None and not SHORTEST <= terms.duration_seconds <= LONGEST:
        raise Refused("duration: give a worker 30 seconds to 365 days")
    if not 1 <= reward <= MOST_CENTS:
        raise Refused(f"reward: pay at least one cent, and at most {format_usd(MOST_CENTS)}")
    if not 0 <= bonus <= MOST_CENTS:
        raise Refused(f"bonus: use 0 or more cents, and at most {format_usd(MOST_CENTS)}")
    if not 1 <= each <= MAX_OPINIONS:
        raise Refused(f"opinions: use 1 to {MAX_OPINIONS} for each unit")
    return reward, bonus, each
